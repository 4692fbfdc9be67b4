"""The live pipeline on Kafka: delay, rate, starts, changes and memory, beside a bare pipeline.

A Kafka server and both pipelines are processes on this machine; the server's data is in memory. The
bare pipeline is Kafka → `mapInArrow` → Kafka: it writes as many notifications of the same width
without matching. Both have the same Spark configuration, partitions and limits (`spark_conf`). One
pipeline runs at a time, in turns; ratios are of medians over turns. The modules of
`benchmarks/on_kafka/` describe what each part measures. Run `make jars` and `make kafka` first.
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
    """Return the results for the keys in `only`, at the published sizes even without `full`.

    Tests divide the sizes by an environment variable; `full` is refused then.
    """
    sizes = asked_sizes(Sizes(), SHRINK, full)
    with Environment.start(sizes) as environment:
        return run_parts(_PARTS, environment, only)
