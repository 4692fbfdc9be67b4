"""Benchmarks of several parts, which share what is costly to set up and each have some keys."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from types import ModuleType

from benchmarks.harness import Value, progress

__all__ = ["check_published", "keys_of", "run_parts"]


def keys_of(parts: Sequence[ModuleType]) -> dict[str, str]:
    """The keys of all parts, and what each says."""
    return {key: line for part in parts for key, line in part.KEYS.items()}


def check_published(is_published: bool, full: bool, shrink: str) -> None:
    """Says that divided sizes are no results, and does not let them be published."""
    if not is_published:
        if full:
            raise SystemExit(f"--full publishes: unset {shrink}")
        print(f"{shrink} is set: these are no results", file=sys.stderr)


def run_parts(
    parts: Sequence[ModuleType], setting: object, only: frozenset[str]
) -> dict[str, Value]:
    """What the parts measure that have some of the keys, in their order."""
    results: dict[str, Value] = {}
    asked = [part for part in parts if only & part.KEYS.keys()]
    for n, part in enumerate(asked):
        progress(n, len(asked), "parts")
        found = part.run(setting, only & part.KEYS.keys())
        print(json.dumps(found), file=sys.stderr)  # a stopped run has told so much
        results |= found
    progress(len(asked), len(asked), "parts")
    return {key: value for key, value in results.items() if key in only}
