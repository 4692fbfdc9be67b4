"""The live pipeline on Kafka: delay, rate, starts, changes and memory beside a bare one.

A Kafka server and both pipelines are processes on this machine, the server's data in a temporary
folder. The bare pipeline is Kafka → `mapInArrow` → Kafka with as many and as wide notifications and
no matching; both have the same Spark configuration, partitions and limits (`settings`). One
pipeline runs at a time, and they take turns; ratios are of medians of turns. What is timed in each
part is said in `benchmarks/on_kafka/`. It needs `make jars` and `make kafka`.
"""

from __future__ import annotations

import json
import sys
from types import ModuleType

from benchmarks.harness import Value, progress
from benchmarks.on_kafka import changing, delays, drains, soak, starts
from benchmarks.on_kafka.setting import Setting
from benchmarks.on_kafka.sizes import SHRINK, Sizes

_PARTS: tuple[ModuleType, ...] = (starts, delays, drains, changing, soak)

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
