"""One function run in a single Spark task, for work that the driver must not do itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from covey._types import JsonObject
from covey.spark.matching.worker_cache import freeze_gc
from covey.spark.worker_errors import reraise_worker_errors

__all__ = ["run_in_task"]


def run_in_task(spark: SparkSession, work: Callable[[], JsonObject]) -> JsonObject:
    """Return the result of a function that one of Spark's workers calls.

    Spark calls it again after a failure, so that doing it twice must do no harm.

    Raises:
        CoveyError: as the function raised it.
    """
    with reraise_worker_errors():
        task = _SingleTask(work)
        (row,) = spark.range(0, 1, 1, 1).mapInArrow(task, "answer string").collect()
    answer: dict[str, Any] = json.loads(row["answer"])
    return answer


@dataclass(frozen=True, slots=True)
class _SingleTask:
    """The function of a `mapInArrow` over one row: yields the result of the work as JSON."""

    work: Callable[[], JsonObject]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                yield pa.RecordBatch.from_pydict({"answer": [json.dumps(self.work())]})
        freeze_gc()
