"""Networks: where subscriptions lie and travel, and that no event is lost, in simulation.

One core; what is measured in each part is said in `benchmarks/on_overlay/`.
"""

from __future__ import annotations

from types import ModuleType

from benchmarks.harness import Value
from benchmarks.on_overlay import brokers, study, trials
from benchmarks.parts import keys_of, run_parts

_PARTS: tuple[ModuleType, ...] = (study, brokers, trials)

KEYS = keys_of(_PARTS)


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Sizes are the published ones, `full` or not."""
    return run_parts(_PARTS, None, only)
