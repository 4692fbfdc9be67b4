"""Tasks are counted as Spark finishes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from covey.cli.progress import StepProgress, count_finished_tasks, read_output_progress

pytestmark = pytest.mark.integration


def test_all_tasks_of_a_group_are_finished_after_it(session: Any) -> None:
    context = session.sparkContext
    context.setJobGroup("counted", "counted")
    session.range(0, 100, 1, 7).foreachPartition(lambda rows: None)
    context.setJobGroup("other", "other")
    assert count_finished_tasks(context.statusTracker(), "counted") == (7, 7)
    assert count_finished_tasks(context.statusTracker(), "nothing") == (0, 0)


def test_stages_that_are_skipped_count_as_finished(session: Any) -> None:
    context = session.sparkContext
    context.setJobGroup("skipping", "skipping")
    sums = context.parallelize(range(100), 5).map(lambda x: (x % 3, x)).reduceByKey(max, 3)
    assert sums.count() == sums.count() == 3  # the second time five tasks are not run again
    assert count_finished_tasks(context.statusTracker(), "skipping") == (16, 16)
    context.setJobGroup("other", "other")


def test_steps_are_timed_also_when_they_fail() -> None:
    with StepProgress() as steps:
        with steps.track_step("one"):
            pass
        with pytest.raises(KeyError), steps.track_step("two"):
            raise KeyError
    assert list(steps.seconds_by_step) == ["one", "two"]
    assert all(spent >= 0 for spent in steps.seconds_by_step.values())


def test_a_write_has_its_share_and_its_rows(session: Any, tmp_path: Path) -> None:
    context = session.sparkContext
    context.setJobGroup("written", "written")
    session.range(0, 100).repartition(6).write.parquet(f"file://{tmp_path}/out")
    context.setJobGroup("other", "other")
    assert read_output_progress(session, "written") == (1.0, 100)
    assert read_output_progress(session, "nothing") is None
