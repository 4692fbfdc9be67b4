"""Mutants have one fault each, and are the same in every run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tools import mutants

ROOT = Path(__file__).parents[2]
SOURCE = '''"""Doc 1 + 1."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import json
LIMIT: int = 3
def f(a: int | None, b) -> int:
    """Not 5 < 6."""
    print(a)
    if a < b and not b:
        return a + LIMIT
    return f"{a == b}" if True else (a) == (b)
'''


def test_each_mutant_has_one_fault_and_is_valid_python() -> None:
    found = list(mutants.mutants_of("m.py", SOURCE))
    assert all(len(one.diff) == 2 for one in found)
    for one in found:
        ast.parse(one.text)
    after = {one.diff[1][1:].strip() for one in found}
    assert after == {
        "LIMIT: int = (3 + 1)",
        "pass",
        "if not (a < b and not b):",
        "if a < b or not b:",
        "if a <= b and not b:",
        "if a < b and b:",
        "return a - LIMIT",
        'return f"{a == b}" if not (True) else (a) == (b)',
        'return f"{a == b}" if False else (a) == (b)',
    }


def test_a_draw_depends_only_on_the_seed_and_has_each_module_once() -> None:
    first, again, other = (mutants.draw(ROOT, seed, 40) for seed in (26, 26, 27))
    assert first == again != other
    assert len({one.file for one in first}) == len(first) == 40
    assert not any("/kernels/" in one.file for one in first)


@pytest.mark.parametrize(("file", "old", "new"), mutants.BY_HAND)
def test_faults_by_hand_occur_once_in_the_sources(file: str, old: str, new: str) -> None:
    assert (ROOT / file).read_text().count(old) == 1
    assert old != new
