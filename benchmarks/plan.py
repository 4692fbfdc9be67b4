"""Plans: bandwidth of each way of planning, how far from any plan's least, and what it takes.

What is measured in each part is said in `benchmarks/on_plan/`. Tables are on Spark, and what is
deployed on Kafka too: it needs `make jars` and `make kafka`.
"""

from __future__ import annotations

from types import ModuleType

from benchmarks.harness import Value
from benchmarks.on_plan import churn, deployed, large, one_level, programs, tables
from benchmarks.on_plan.sizes import SHRINK, Sizes
from benchmarks.parts import asked_sizes, keys_of, run_parts

_PARTS: tuple[ModuleType, ...] = (one_level, large, churn, tables, deployed, programs)

KEYS = keys_of(_PARTS)


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Sizes are the published ones, `full` or not; a test divides them and keeps nothing."""
    sizes = asked_sizes(Sizes(), SHRINK, full)
    return run_parts(_PARTS, sizes, only)
