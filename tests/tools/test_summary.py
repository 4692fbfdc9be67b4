"""The summary adds up the counts of several runs of pytest."""

from __future__ import annotations

import pytest

from tools.summary import add_up


@pytest.mark.parametrize(
    ("printed", "summary"),
    [
        ("9 passed, 1 warning in 1.00s\n1 failed, 3 warnings in 2.00s",
         "9 passed, 4 warnings, 1 failed in 3.00s"),
        ("2 passed, 1 error in 1.00s\n2 errors in 1.00s", "2 passed, 3 errors in 2.00s"),
        ("\x1b[32m5 passed\x1b[0m\x1b[32m in 3.10s\x1b[0m", "5 passed in 3.10s"),
        ("3 passed, 2 subtests passed in 1.00s", "3 passed, 2 subtests passed in 1.00s"),
        ("no tests ran in 0.01s", "pytest has printed no summary"),
        ("", "pytest has printed no summary"),
        ("make: *** 2 passed in vain", "pytest has printed no summary"),
    ],
)  # fmt: skip
def test_counts_of_all_runs_are_added_up(printed: str, summary: str) -> None:
    assert add_up(printed) == summary
