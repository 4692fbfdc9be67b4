"""Memory of Python workers: whether it grows with the number of events.

A transform with pairs, a million subscriptions, Arrow batches of 50,000, once on fewer and once on
ten times as many events, each in a process with a session of its own. While it runs, `/proc` is
read 20 times a second: anonymous resident memory (RssAnon) of each worker, which is all that it
allocates; the index and libraries are mapped files, and shared (RssFile). Peaks of the worker with
the highest are compared.
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
    "worker_memory_10m_vs_1m": "peak anonymous memory of a Python worker, 10M events against 1M",
    "worker_memory_mb": "megabytes of it after 10M events",
    "worker_mapped_mb": "most of mapped files that is resident in a worker, shared with others",
}
_SECONDS = 0.05  # between two looks


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """Two processes, one after the other."""
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
    """What `_measured` gives in another process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.on_spark.memory", json.dumps([model, files])],
        cwd=Path(__file__).parent.parent.parent, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    peaks: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return peaks


def _measured(model: str, files: list[str]) -> dict[str, float]:
    """Peaks of any worker in megabytes, by kind of memory."""
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
