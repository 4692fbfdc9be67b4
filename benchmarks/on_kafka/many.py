"""Time and memory of a first start from a control topic with ten million subscriptions.

The time is measured as in `starts`. The memory of all processes of the pipeline is read every half
second until the first notification.
"""

from __future__ import annotations

from benchmarks.harness import Value
from benchmarks.on_kafka.environment import Environment, say
from benchmarks.on_kafka.memory import total_mb
from benchmarks.on_kafka.pipelines import COVEY
from benchmarks.on_kafka.starts import cold, waiting
from benchmarks.watch import peak_of

__all__ = ["KEYS", "run"]

KEYS = {
    "cold_start_10m_s": "seconds from a first start with 10M to the first notification",
    "cold_start_10m_gib": "peak memory of all processes during that start in GiB",
}


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of one first start; its state is removed afterwards."""
    pipeline = environment.pipeline(COVEY, environment.sizes.most)
    waiting(environment, pipeline)
    process = pipeline.process()

    def memory_mb() -> float:
        return total_mb(process.family()) if process.is_running else 0.0

    try:
        with peak_of(memory_mb) as peak:
            seconds = cold(environment, pipeline, process)
    finally:
        process.stop()
    gib = peak[0] / 1024
    environment.forget(pipeline)
    say(f"{environment.sizes.most:,} subscriptions: {seconds:.1f} s, {gib:.1f} GiB")
    return {"cold_start_10m_s": round(seconds, 1), "cold_start_10m_gib": round(gib, 2)}
