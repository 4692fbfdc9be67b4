"""Steps of a command: a progress bar while a step runs, and the seconds that each step took.

The bar is shown only if stderr is a terminal, and disappears when the command ends. It shows the
share of Spark's tasks that are finished. For the step that matches events, it also shows events,
rows and the time left.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import NamedTuple

from py4j.protocol import Py4JError
from pyspark import StatusTracker
from pyspark.sql import SparkSession
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from covey.cli.console_format import make_console

__all__ = [
    "OutputProgress",
    "StepProgress",
    "count_finished_tasks",
    "format_output_progress",
    "read_output_progress",
]

_POLL_INTERVAL_S = 0.2


class OutputProgress(NamedTuple):
    """The progress of a write: the share of its tasks that are finished, and the written rows."""

    share: float
    rows: int


class StepProgress:
    """The steps of one command, one after another.

    `seconds_by_step` contains the time of each finished step by its name.

    Cost: a few small calls to Spark's driver, five times a second.
    """

    def __init__(self) -> None:
        self.seconds_by_step: dict[str, float] = {}
        console = make_console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[details]}"),
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
    def pause(self) -> Iterator[None]:
        """Hide the bar while the body runs, for example while it asks the user a question."""
        self._progress.stop()
        try:
            yield
        finally:
            self._progress.start()

    @contextmanager
    def track_step(
        self, step_name: str, spark: SparkSession | None = None, *, event_count: int | None = None
    ) -> Iterator[None]:
        """Run the body as a step, and measure its time.

        Args:
            step_name: name of the step, which the bar shows.
            spark: session whose jobs in this step the bar shows; None if the step has no jobs.
            event_count: number of events, if the step matches events and writes the matches; the
                bar then counts events instead of tasks.
        """
        started = time.perf_counter()
        bar = self._progress.add_task(step_name, total=None, details="")
        done = threading.Event()
        watcher = None
        if spark is not None and not self._progress.disable:
            spark.sparkContext.setJobGroup(step_name, step_name)
            watcher = threading.Thread(
                target=self._poll_jobs, args=(spark, step_name, bar, event_count, done)
            )
            watcher.start()
        try:
            yield
        finally:
            done.set()
            if watcher is not None:
                watcher.join()
            self.seconds_by_step[step_name] = time.perf_counter() - started
            self._progress.update(bar, visible=False)

    def _poll_jobs(
        self, spark: SparkSession, job_group: str, bar: TaskID, event_count: int | None,
        done: threading.Event,
    ) -> None:  # fmt: skip
        tracker, started = spark.sparkContext.statusTracker(), time.perf_counter()
        while not done.wait(_POLL_INTERVAL_S):
            try:
                finished, known = count_finished_tasks(tracker, job_group)
                output = None if event_count is None else read_output_progress(spark, job_group)
            except (Py4JError, OSError):  # Spark has stopped, and the step ends with that error
                return
            if output is not None and event_count is not None:
                details = format_output_progress(output, event_count, time.perf_counter() - started)
                self._progress.update(bar, completed=output.share, total=1.0, details=details)
            elif known:
                details = f"{finished:,} of {known:,} tasks"
                self._progress.update(bar, completed=finished, total=known, details=details)


def count_finished_tasks(tracker: StatusTracker, job_group: str) -> tuple[int, int]:
    """Return how many tasks of a job group are finished, and how many tasks are known so far."""
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


def read_output_progress(spark: SparkSession, job_group: str) -> OutputProgress | None:
    """Return the progress of the write in a job group; None before its last stage has begun."""
    tracker = spark.sparkContext.statusTracker()
    infos = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(job_group)]
    stages = [stage for info in infos if info is not None for stage in info.stageIds]
    known = [stage for stage in stages if tracker.getStageInfo(stage) is not None]
    if not known:
        return None
    store = spark.sparkContext._jsc.sc().statusStore()
    stage = store.lastStageAttempt(max(known))
    if stage.shuffleWriteBytes():  # the stage that distributes events, before the one that writes
        return None
    return OutputProgress(
        stage.numCompleteTasks() / max(1, stage.numTasks()), int(stage.outputRecords())
    )


def format_output_progress(output: OutputProgress, event_count: int, elapsed_s: float) -> str:
    """Return the progress of a write as a text: events, rows and the time left.

    The time left is missing before the first task is finished, and after the last one.

    >>> format_output_progress(OutputProgress(0.25, 1_000), 20_000, 30.0)
    '5,000 of 20,000 events, 1,000 rows, about 90 s left'
    """
    events = f"{output.share * event_count:,.0f} of {event_count:,} events, {output.rows:,} rows"
    if not 0 < output.share < 1:
        return events
    left_s = elapsed_s * (1 - output.share) / output.share
    return f"{events}, about {_format_duration(left_s)} left"


def _format_duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
