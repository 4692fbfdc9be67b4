"""Adds up the summaries of several pytest runs and prints them as one, at the end of `.ci/run`."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

__all__ = ["add_up"]

SUMMARY = re.compile(r"^=*\s*((?:\d+ [a-z]+(?: [a-z]+)?(?:, )?)+) in ([\d.]+)s\b")
COLOUR = re.compile(r"\x1b\[[\d;]*m")
SINGULAR = {"warning": "warnings", "error": "errors"}


def add_up(printed: str) -> str:
    """Return the sum of all summaries in the output of pytest runs.

    >>> add_up("2 passed, 1 skipped in 1.50s\\nmore\\n=== 40 passed in 90.25s (0:01:30) ===")
    '42 passed, 1 skipped in 91.75s'
    >>> add_up("collecting …")
    'pytest has printed no summary'
    """
    counts, seconds = Counter[str](), 0.0
    for line in COLOUR.sub("", printed).splitlines():
        if match := SUMMARY.match(line):
            seconds += float(match[2])
            for part in match[1].split(", "):
                number, kind = part.split(" ", 1)
                counts[SINGULAR.get(kind, kind)] += int(number)
    if not counts:
        return "pytest has printed no summary"
    return f"{', '.join(f'{number} {kind}' for kind, number in counts.items())} in {seconds:.2f}s"


if __name__ == "__main__":
    print(add_up(Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace")))
