"""Benchmarks of several parts, which share what is costly to set up and each have some keys."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Protocol, Self, TypeVar

from benchmarks.harness import Value, progress

__all__ = ["asked_sizes", "keys_of", "run_parts"]


def keys_of(parts: Sequence[ModuleType]) -> dict[str, str]:
    """The keys of all parts, and what each says."""
    return {key: line for part in parts for key, line in part.KEYS.items()}


class _Sizes(Protocol):
    def divided(self, by: int) -> Self:
        """So much less of everything."""
        ...


S = TypeVar("S", bound=_Sizes)


def asked_sizes(published: S, shrink: str, full: bool) -> S:
    """The published sizes, or divided by what the environment says; that is never published."""
    sizes = published.divided(int(os.environ.get(shrink, "1")))
    if sizes != published:
        if full:
            raise SystemExit(f"--full publishes: unset {shrink}")
        print(f"{shrink} is set: these are no results", file=sys.stderr)
    return sizes


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
