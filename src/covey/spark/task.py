"""One function run in one task of Spark's, for work that must not be the driver's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from covey.errors import StoreError

__all__ = ["in_a_task"]


def in_a_task(spark: SparkSession, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `work` returns, which JSON must be able to hold; its `StoreError` is raised here.

    Spark may run it again when its worker dies, so doing it twice must do no harm.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                try:
                    answer = {"done": work()}
                except StoreError as error:
                    answer = {"failed": {"message": str(error)}}
                yield pa.RecordBatch.from_pydict({"answer": [json.dumps(answer)]})

    (row,) = spark.range(0, 1, 1, 1).mapInArrow(run, "answer string").collect()
    answer: dict[str, dict[str, Any]] = json.loads(row["answer"])
    if "failed" in answer:
        raise StoreError(answer["failed"]["message"])
    return answer["done"]
