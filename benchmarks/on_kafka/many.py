"""A first start from a control topic of ten million subscriptions: how long, and how much memory.

The time is that of `starts`. Memory is read every half second until the first notification, of all
processes of the pipeline together.
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
    "cold_start_10m_s": "from the start with 10M subscriptions to the first notification",
    "cold_start_10m_gib": "most memory of all its processes meanwhile",
}


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """One start; afterwards nothing is kept."""
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
