"""Simulated networks: replicas and messages of subscriptions, and a check that no event is lost.

It runs on one core. The modules of `benchmarks/on_overlay/` describe what each part measures.
"""

from __future__ import annotations

from types import ModuleType

from benchmarks.harness import Value
from benchmarks.on_overlay import brokers, study, trials
from benchmarks.parts import keys_of, run_parts

_PARTS: tuple[ModuleType, ...] = (study, brokers, trials)

KEYS = keys_of(_PARTS)


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Return the results for the keys in `only`, at the published sizes even without `full`."""
    return run_parts(_PARTS, None, only)
