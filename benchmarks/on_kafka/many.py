"""A first start from a control topic of ten million subscriptions: how long, and how much memory.

The time is that of `starts`. Memory is read every half second until the first notification, of all
processes of the pipeline together.
"""

from __future__ import annotations

import threading

from benchmarks.harness import Value
from benchmarks.on_kafka.memory import total_mb
from benchmarks.on_kafka.pipelines import COVEY
from benchmarks.on_kafka.processes import Process
from benchmarks.on_kafka.setting import Setting, say
from benchmarks.on_kafka.starts import cold, waiting

__all__ = ["KEYS", "run"]

KEYS = {
    "cold_start_10m_s": "from the start with 10M subscriptions to the first notification",
    "cold_start_10m_gib": "most memory of all its processes meanwhile",
}
_SAMPLE_S = 0.5


def run(setting: Setting, only: frozenset[str]) -> dict[str, Value]:
    """One start; afterwards nothing is kept."""
    pipeline = setting.pipeline(COVEY, setting.sizes.most)
    waiting(setting, pipeline)
    process = pipeline.process()
    most = _Most(process)
    try:
        seconds = cold(setting, pipeline, process)
    finally:
        process.stop()
        gib = most.stop()
    setting.forget(pipeline)
    say(f"{setting.sizes.most:,} subscriptions: {seconds:.1f} s, {gib:.1f} GiB")
    return {"cold_start_10m_s": round(seconds, 1), "cold_start_10m_gib": round(gib, 2)}


class _Most:
    """A thread that reads how much memory a process and all that it started have."""

    def __init__(self, process: Process) -> None:
        self._process, self._mb, self._ending = process, 0.0, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        """The most that it read, in GiB."""
        self._ending.set()
        self._thread.join()
        return self._mb / 1024

    def _run(self) -> None:
        while not self._ending.wait(_SAMPLE_S):
            if self._process.is_running:
                self._mb = max(self._mb, total_mb(self._process.family()))
