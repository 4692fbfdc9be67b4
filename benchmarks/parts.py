"""Benchmarks that consist of parts: each part measures some keys, and all share one environment."""

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
    """Return the keys of all parts with their descriptions."""
    return {key: line for part in parts for key, line in part.KEYS.items()}


class _Sizes(Protocol):
    """The sizes of a benchmark, such as numbers of subscriptions."""

    def divided(self, by: int) -> Self:
        """Return smaller sizes: numbers are divided by `by`, but not below a minimum."""
        ...


S = TypeVar("S", bound=_Sizes)


def asked_sizes(published: S, shrink: str, full: bool) -> S:
    """Return the published sizes, divided by the value of an environment variable if it is set.

    Args:
        published: the published sizes.
        shrink: name of the environment variable.
        full: whether results will be published.

    Raises:
        SystemExit: sizes are divided and `full` is set.
    """
    sizes = published.divided(int(os.environ.get(shrink, "1")))
    if sizes != published:
        if full:
            raise SystemExit(f"--full needs the published sizes: unset {shrink}")
        print(f"{shrink} is set: these results are not comparable", file=sys.stderr)
    return sizes


def run_parts(
    parts: Sequence[ModuleType], setting: object, only: frozenset[str]
) -> dict[str, Value]:
    """Run all parts that measure one of the keys, in order, and return their results.

    Args:
        parts: modules with `KEYS` and `run`.
        setting: first argument of each part's `run`.
        only: the keys to measure.
    """
    results: dict[str, Value] = {}
    selected = [part for part in parts if only & part.KEYS.keys()]
    for n, part in enumerate(selected):
        progress(n, len(selected), "parts")
        part_results = part.run(setting, only & part.KEYS.keys())
        print(json.dumps(part_results), file=sys.stderr)  # partial results
        results |= part_results
    progress(len(selected), len(selected), "parts")
    return {key: value for key, value in results.items() if key in only}
