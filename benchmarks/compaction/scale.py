"""Reductions on Spark, from 100,000 to ten million subscriptions.

Spark runs as `local[2]` with 6 GB for the JVM. Subscriptions are uniform boxes in four dimensions,
as columns in Parquet files, without an event sample and with perfect merging only. The time is that
of `reduce_subscriptions`: the fit, every step, the arranged store and the tables. Memory is the sum
of the anonymous memory of this process, the JVM and the Python workers, without the pages of mapped
files, which they share. It is read twice a second, and the result is the largest sum.
"""

from __future__ import annotations

import math
import os
import time

import numpy as np

from benchmarks.harness import Value
from benchmarks.on_spark.environment import BOXES, Environment
from benchmarks.on_spark.processes import descendants, resident_mb
from benchmarks.on_spark.sizes import SHRINK, Sizes
from benchmarks.parts import asked_sizes
from benchmarks.watch import peak_of
from covey.routing import RoutingTable
from covey.spark import ReductionResult, reduce_subscriptions
from covey.workload import create_workload

__all__ = ["KEYS", "run"]

_CHECKED, _BATCH = 200_000, 1_000
_PARTS = ("fit", "equality", "covering", "subsumption", "merging", "arrange", "write")

KEYS = {
    "compact_10m_s": "seconds to reduce 10M boxes on local[2]",
    **{f"compact_10m_{part}_s": f"seconds to reduce 10M boxes, step {part}" for part in _PARTS},
    "compact_10m_gib": "peak memory of all processes in GiB, without mapped files",
    "compact_10m_active": "share of active subscriptions among the 10M",
    "compact_1m_s": "seconds to reduce 1M",
    "compact_100k_s": "seconds to reduce 100,000",
    "compact_growth": "exponent g of seconds ~ n^g from 100,000 to 10M",
    "compact_growth_1m": "exponent g from 1M to 10M, where the start of jobs matters little",
    "compact_differs": "ids whose status differs from the exact routing table's, of 200,000: 0",
}


def run(only: frozenset[str]) -> dict[str, Value]:
    """Return the results for the keys in `only`, all sizes in one session, small ones first."""
    results: dict[str, Value] = {}
    with Environment.start(asked_sizes(Sizes(), SHRINK, full=False)) as environment:
        _timed(environment, 2_000)
        if "compact_differs" in only:
            results["compact_differs"] = _differs(environment)
        if only - {"compact_differs"}:
            sizes = environment.sizes
            results |= _sizes(environment, (sizes.few, sizes.stored, sizes.many))
    return results


def _sizes(environment: Environment, counts: tuple[int, int, int]) -> dict[str, Value]:
    few, stored, many = counts
    small, middle = _timed(environment, few)[0], _timed(environment, stored)[0]
    with peak_of(_memory_mb) as peak:
        large, compaction = _timed(environment, many)
    summary = compaction.summary
    return {
        "compact_10m_s": round(large, 1),
        **{f"compact_10m_{part}_s": round(compaction.seconds_by_step[part], 1) for part in _PARTS},
        "compact_10m_gib": round(peak[0] / 1024, 1),
        "compact_10m_active": round(1 - summary.redundant / summary.subscriptions, 4),
        "compact_1m_s": round(middle, 1),
        "compact_100k_s": round(small, 1),
        "compact_growth": round(math.log(large / small) / math.log(many / few), 3),
        "compact_growth_1m": round(math.log(large / middle) / math.log(many / stored), 3),
    }


def _timed(
    environment: Environment, count: int, subtractions: int = 32
) -> tuple[float, ReductionResult]:
    subscriptions = environment.tables.ranges(BOXES, count)
    events = environment.tables.events(BOXES, 1_000)
    names = [attribute.name for attribute in create_workload(BOXES).space]
    start = time.perf_counter()
    compaction = reduce_subscriptions(
        subscriptions,
        eventSchema=events.schema,
        rangeCols={name: (f"{name}_low", f"{name}_high") for name in names},
        max_subtractions=subtractions,
    )
    return time.perf_counter() - start, compaction


def _differs(environment: Environment) -> int:
    """Return the number of ids that are redundant only on Spark or only in a pruned table.

    Both decide by covering alone, without subsumption.
    """
    workload = create_workload(BOXES)
    _, compaction = _timed(environment, _CHECKED, subtractions=0)
    redundant = {row["id"] for row in compaction.redundant.select("id").collect()}
    table = RoutingTable(workload.space)
    for start in range(0, _CHECKED, _BATCH):
        ids = list(range(start, start + _BATCH))
        table.add(ids, workload.generate_regions(start, start + _BATCH), np.arange(_BATCH))
    table.prune()
    return len(redundant ^ set(table.find_redundant()))


def _memory_mb() -> float:
    """Return the anonymous memory of this process and its descendants in MB."""
    pids = [os.getpid(), *descendants()]
    return sum(resident_mb(pid).get("RssAnon", 0.0) for pid in pids)
