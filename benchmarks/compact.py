"""Reductions: changes of routing tables, the shares that steps remove, and 10M boxes on Spark."""

from __future__ import annotations

import json
import sys
from types import ModuleType

from benchmarks.compaction import online, scale, shares
from benchmarks.harness import Value

_PARTS: tuple[ModuleType, ...] = (online, shares, scale)

KEYS: dict[str, str] = {key: line for part in _PARTS for key, line in part.KEYS.items()}


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Return the results for the keys in `only`, at the published sizes even without `full`."""
    results: dict[str, Value] = {}
    for part in _PARTS:
        if part_keys := only & part.KEYS.keys():
            part_results = part.run(part_keys)
            print(json.dumps(part_results), file=sys.stderr)  # kept if the run is aborted
            results |= part_results
    return {key: value for key, value in results.items() if key in only}
