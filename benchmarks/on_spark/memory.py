"""Memory of Python workers for 1M and for 10M events.

A transform returns pairs of a million subscriptions with Arrow batches of 50,000 rows. It runs once
on 1M events and once on 10M, each time in a new process with a new session. During the run, `/proc`
is read 20 times a second. The anonymous resident memory (RssAnon) of a worker is what it allocates;
the index and libraries are mapped files, which workers share (RssFile). The peaks of the worker
with the highest peak are compared.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.harness import Value
from benchmarks.on_spark.environment import BOXES, Environment
from benchmarks.on_spark.processes import resident_mb, workers_below
from benchmarks.on_spark.session import LARGE_BATCH, drain, session, set_batch
from benchmarks.watch import meanwhile
from covey.spark import MatcherModel

__all__ = ["KEYS", "run"]

KEYS = {
    "worker_memory_10m_vs_1m": "peak anonymous memory of a Python worker, 10M events over 1M",
    "worker_memory_mb": "peak anonymous memory of a worker with 10M events in MiB",
    "worker_mapped_mb": "peak resident mapped files of a worker in MiB, shared with others",
}
_SECONDS = 0.05  # between two readings


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of two processes, which run one after the other."""
    sizes, model = environment.sizes, str(environment.tables.folder / "model")
    environment.fitted(BOXES, sizes.stored).model.write().overwrite().save(model)
    before, after = (
        _peaks(model, environment.tables.events(BOXES, count).inputFiles())
        for count in (sizes.events_before, sizes.events_after)
    )
    return {
        "worker_memory_10m_vs_1m": round(after["RssAnon"] / before["RssAnon"], 3),
        "worker_memory_mb": round(after["RssAnon"], 1),
        "worker_mapped_mb": round(after["RssFile"], 1),
    }


def _peaks(model: str, files: list[str]) -> dict[str, float]:
    """Run `_measured` in another process and return its result."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.on_spark.memory", json.dumps([model, files])],
        cwd=Path(__file__).parent.parent.parent, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    peaks: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return peaks


def _measured(model: str, files: list[str]) -> dict[str, float]:
    """Return the peak over all workers in MiB, by kind of memory."""
    peaks = dict.fromkeys(("RssAnon", "RssFile"), 0.0)

    def look() -> None:
        for pid in workers_below():
            for kind, size in resident_mb(pid).items():
                peaks[kind] = max(peaks[kind], size)

    with session() as spark, meanwhile(look, _SECONDS):
        set_batch(spark, LARGE_BATCH)
        drain(MatcherModel.load(model).transform(spark.read.parquet(*files)))
    return peaks


if __name__ == "__main__":
    print(json.dumps(_measured(*json.loads(sys.argv[1]))))
