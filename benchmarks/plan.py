"""Plans: bandwidth by method, distance from the lower bound, and the cost of planning.

The modules of `benchmarks/on_plan/` describe what each part measures. `tables` runs on Spark,
`deployed` on Spark and Kafka: run `make jars` and `make kafka` first.
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
    """Return the results for the keys in `only`, at the published sizes even without `full`.

    Tests divide the sizes by an environment variable; `full` is refused then.
    """
    sizes = asked_sizes(Sizes(), SHRINK, full)
    return run_parts(_PARTS, sizes, only)
