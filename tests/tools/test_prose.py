"""Idioms are found in prose and messages, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.prose import IDIOMS, find_idioms, iter_files
from tools.prose_sample import draw


def find(tmp_path: Path, name: str, text: str) -> list[tuple[int, str]]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return [(idiom.line, idiom.text) for idiom in find_idioms(path)]


def test_docstrings_comments_and_messages_are_searched(tmp_path: Path) -> None:
    source = (
        '"""Do it\nanew."""\nwhoever = 1  # for want of one\nraise ValueError(f"so many: {1}")\n'
    )
    assert find(tmp_path, "some.py", source) == [(2, "anew"), (3, "for want of"), (4, "so many")]


def test_an_idiom_may_be_broken_across_lines(tmp_path: Path) -> None:
    assert find(tmp_path, "page.md", "Text.\n\nThere are so\nmany.\n") == [(3, "so\nmany")]


@pytest.mark.parametrize("page", ["```\nanew\n```\n", "`anew`\n", "renewed anewly\n"])
def test_code_and_parts_of_words_are_skipped(tmp_path: Path, page: str) -> None:
    assert find(tmp_path, "page.md", page) == []


def test_there_are_at_least_40_idioms_with_replacements() -> None:
    assert len(IDIOMS) >= 40
    assert all(IDIOMS.values())


def test_the_project_has_none_of_the_idioms() -> None:
    assert [str(idiom) for path in iter_files() for idiom in find_idioms(path)] == []


def test_the_sample_is_deterministic() -> None:
    sample = draw()
    assert sample == draw()
    assert {
        kind: sum(text.kind == kind for text in sample) for kind in ("docstring", "message")
    } == {
        "docstring": 200,
        "message": 100,
    }
