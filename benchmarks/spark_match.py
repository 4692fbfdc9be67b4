"""Matching on Spark: a transform beside bare operators, Spark SQL and a matrix product, and fits.

On `local[2]` with 6 GB for the JVM, tables in Parquet, output into the sink `noop`, event columns
in the output `event_id` alone. A timer holds all from the call of `transform` or `mapInArrow`, or
the building of a join, to the last row: planning, reading, both ways between JVM and Python. Tables
are drawn and models fitted outside of it, and everything ran before. Ratios are of medians of runs
that take turns. What is timed in each part, and how Arrow batches are set, is said in
`benchmarks/on_spark/`. All answers are compared with Spark's own, on samples where it could not
finish; a difference raises.
"""

from __future__ import annotations

from types import ModuleType

from benchmarks.harness import Value
from benchmarks.on_spark import by_hand, classifieds, fits, memory, throughput, watches
from benchmarks.on_spark.environment import Environment
from benchmarks.on_spark.sizes import SHRINK, Sizes
from benchmarks.parts import asked_sizes, keys_of, run_parts

_PARTS: tuple[ModuleType, ...] = (fits, throughput, by_hand, memory, watches, classifieds)

KEYS = keys_of(_PARTS)


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Sizes are the published ones, `full` or not; a test divides them and keeps nothing."""
    sizes = asked_sizes(Sizes(), SHRINK, full)
    with Environment.start(sizes) as environment:
        return run_parts(_PARTS, environment, only)
