"""Compaction: tables that change, what covering and merging remove, ten million on Spark."""

from __future__ import annotations

import json
import sys
from types import ModuleType

from benchmarks.compaction import online, scale, shares
from benchmarks.harness import Value

_PARTS: tuple[ModuleType, ...] = (online, shares, scale)

KEYS: dict[str, str] = {key: line for part in _PARTS for key, line in part.KEYS.items()}


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Sizes are the published ones, `full` or not."""
    results: dict[str, Value] = {}
    for part in _PARTS:
        if wanted := only & part.KEYS.keys():
            found = part.run(wanted)
            print(json.dumps(found), file=sys.stderr)  # a stopped run has told so much
            results |= found
    return {key: value for key, value in results.items() if key in only}
