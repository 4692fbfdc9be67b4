"""One function run in one task of Spark's, for work that must not be the driver's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from covey.errors import StoreError, raised_elsewhere

__all__ = ["in_a_task"]


def in_a_task(spark: SparkSession, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `work` returns, which JSON must be able to hold; a `CoveyError` of it is raised here.

    Spark runs it again where it fails, so doing it twice must do no harm.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                yield pa.RecordBatch.from_pydict({"answer": [json.dumps(work())]})

    try:
        (row,) = spark.range(0, 1, 1, 1).mapInArrow(run, "answer string").collect()
    except PySparkException as error:
        said = raised_elsewhere(str(error))
        if said is None:
            raise
        raise StoreError(said) from None
    answer: dict[str, Any] = json.loads(row["answer"])
    return answer
