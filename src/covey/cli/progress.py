"""Steps of a command: a bar while each runs, by the tasks that Spark has finished, and its seconds.

The bar is on stderr, and only where that is a terminal; it is gone when the command ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from py4j.protocol import Py4JError
from pyspark import StatusTracker
from pyspark.sql import SparkSession
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from covey.cli.console_format import make_console

__all__ = ["StepProgress", "count_finished_tasks"]

_POLL_INTERVAL_S = 0.2


class StepProgress:
    """The steps of one command, one after another; `seconds` is what each took.

    Cost: some small calls to Spark's driver, five times a second.
    """

    def __init__(self) -> None:
        self.seconds_by_step: dict[str, float] = {}
        console = make_console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[tasks]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> StepProgress:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        self._progress.stop()

    @contextmanager
    def track_step(self, step_name: str, spark: SparkSession | None = None) -> Iterator[None]:
        """Runs what is inside as a step; with a session, its Spark jobs move the bar."""
        started = time.perf_counter()
        bar = self._progress.add_task(step_name, total=None, tasks="")
        done = threading.Event()
        watcher = None
        if spark is not None and not self._progress.disable:
            spark.sparkContext.setJobGroup(step_name, step_name)
            watcher = threading.Thread(target=self._poll_tasks, args=(spark, step_name, bar, done))
            watcher.start()
        try:
            yield
        finally:
            done.set()
            if watcher is not None:
                watcher.join()
            self.seconds_by_step[step_name] = time.perf_counter() - started
            self._progress.update(bar, visible=False)

    def _poll_tasks(
        self, spark: SparkSession, job_group: str, bar: TaskID, done: threading.Event
    ) -> None:
        tracker = spark.sparkContext.statusTracker()
        while not done.wait(_POLL_INTERVAL_S):
            try:
                finished, known = count_finished_tasks(tracker, job_group)
            except (Py4JError, OSError):  # Spark is gone, and the step ends with that
                return
            if known:
                self._progress.update(
                    bar, completed=finished, total=known, tasks=f"{finished:,} of {known:,} tasks"
                )


def count_finished_tasks(tracker: StatusTracker, job_group: str) -> tuple[int, int]:
    """How many tasks of a group of jobs are finished, and how many it has so far."""
    finished = known = 0
    for job in tracker.getJobIdsForGroup(job_group):
        info = tracker.getJobInfo(job)
        for stage_id in info.stageIds if info is not None else ():
            stage = tracker.getStageInfo(stage_id)
            if info is not None and stage is not None:
                # A stage that was done before is skipped, and its tasks are never finished again.
                is_over = info.status == "SUCCEEDED"
                finished += stage.numTasks if is_over else stage.numCompletedTasks
                known += stage.numTasks
    return finished, known
