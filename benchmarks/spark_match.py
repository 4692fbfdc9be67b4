"""Matching on Spark: a transform beside bare operators, Spark SQL and a matrix product, and fits.

Spark runs as `local[2]` with 6 GB for the JVM. Tables are in Parquet files, the output goes into
the sink `noop`, and `event_id` is the only event column of the output. A time is from the call of
`transform` or `mapInArrow`, or from the start of building a join, to the last row; it includes
planning, reading, and the transfer between JVM and Python in both directions. Before that, tables
are generated, models are fitted, and every run is executed once. Ratios are of medians of runs that
take turns. The modules of `benchmarks/on_spark/` describe what each part measures and the sizes of
Arrow batches. All results are compared with Spark's; where Spark would take too long, samples are
compared. A difference raises an error.
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
    """Return the results for the keys in `only`, at the published sizes even without `full`.

    Tests divide the sizes by an environment variable; `full` is refused then.
    """
    sizes = asked_sizes(Sizes(), SHRINK, full)
    with Environment.start(sizes) as environment:
        return run_parts(_PARTS, environment, only)
