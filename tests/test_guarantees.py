"""Every guarantee in docs/reference/guarantees.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reference" / "guarantees.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("named", sorted(set(re.findall(r"tests/[\w/]+\.py::\w+", PAGE))))
def test_a_test_that_the_page_names_exists(named: str) -> None:
    path, _, test = named.partition("::")
    assert re.search(rf"^ *def {test}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_guarantee_names_a_test() -> None:
    promises = re.split(r"^\d+\. ", PAGE.partition("\n## Not promised")[0], flags=re.MULTILINE)[1:]
    assert len(promises) >= 10
    assert all("::test_" in promise for promise in promises)
