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

import json
import sys
from types import ModuleType

from benchmarks.harness import Value, progress
from benchmarks.on_spark import by_hand, classifieds, fits, memory, throughput, watches
from benchmarks.on_spark.setting import Setting
from benchmarks.on_spark.sizes import SHRINK, Sizes

_PARTS: tuple[ModuleType, ...] = (fits, throughput, by_hand, memory, watches, classifieds)

KEYS: dict[str, str] = {key: line for part in _PARTS for key, line in part.KEYS.items()}


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Sizes are the published ones, `full` or not; a test divides them and keeps nothing."""
    sizes = Sizes.asked()
    if not sizes.is_published:
        if full:
            raise SystemExit(f"--full publishes: unset {SHRINK}")
        print(f"{SHRINK} is set: these are no results", file=sys.stderr)
    results: dict[str, Value] = {}
    parts = [part for part in _PARTS if only & part.KEYS.keys()]
    with Setting.of(sizes) as setting:
        for n, part in enumerate(parts):
            progress(n, len(parts), "parts")
            found = part.run(setting, only & part.KEYS.keys())
            print(json.dumps(found), file=sys.stderr)  # a stopped run has told so much
            results |= found
        progress(len(parts), len(parts), "parts")
    return {key: value for key, value in results.items() if key in only}
