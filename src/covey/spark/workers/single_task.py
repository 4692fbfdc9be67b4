"""Run one function in a Spark task, for work that the driver should not do, such as a commit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from covey._types import JsonObject
from covey.spark.matching.worker_cache import freeze_gc
from covey.spark.workers.worker_errors import reraise_worker_errors

__all__ = ["ATTEMPT_S", "run_in_task"]

ATTEMPT_S = 600.0
"""Seconds for which an attempt of a task waits for the writer's lock, which another one may have.

Spark runs a second attempt beside a slow one if speculation is on, and after the loss of an
executor, whose processes may still run.
"""


def run_in_task(spark: SparkSession, work: Callable[[], JsonObject]) -> JsonObject:
    """Call a function in a Spark task, and return its result.

    Spark may call the function again after a failure, so a repeated call must do no harm.

    Raises:
        CoveyError: the function raised it.
    """
    with reraise_worker_errors():
        task = _SingleTask(work)
        (row,) = spark.range(0, 1, 1, 1).mapInArrow(task, "answer string").collect()
    answer: dict[str, Any] = json.loads(row["answer"])
    return answer


@dataclass(frozen=True, slots=True)
class _SingleTask:
    """Function of a `mapInArrow` over one row: call `work`, and yield the result as JSON."""

    work: Callable[[], JsonObject]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                yield pa.RecordBatch.from_pydict({"answer": [json.dumps(self.work())]})
        freeze_gc()
