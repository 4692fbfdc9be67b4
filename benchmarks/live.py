"""The live pipeline on Kafka: delay, rate, starts, changes and memory beside a bare one.

A Kafka server and both pipelines are processes on this machine, the server's data in memory. The
bare pipeline is Kafka → `mapInArrow` → Kafka with as many and as wide notifications and no
matching; both have the same Spark configuration, partitions and limits (`spark_conf`). One pipeline
runs at a time, and they take turns; ratios are of medians of turns. What is timed in each part is
said in `benchmarks/on_kafka/`. It needs `make jars` and `make kafka`.
"""

from __future__ import annotations

from types import ModuleType

from benchmarks.harness import Value
from benchmarks.on_kafka import changing, delays, drains, many, soak, starts
from benchmarks.on_kafka.environment import Environment
from benchmarks.on_kafka.sizes import SHRINK, Sizes
from benchmarks.parts import asked_sizes, keys_of, run_parts

_PARTS: tuple[ModuleType, ...] = (starts, delays, drains, changing, many, soak)

KEYS = keys_of(_PARTS)


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Sizes are the published ones, `full` or not; a test divides them and keeps nothing."""
    sizes = asked_sizes(Sizes(), SHRINK, full)
    with Environment.start(sizes) as environment:
        return run_parts(_PARTS, environment, only)
