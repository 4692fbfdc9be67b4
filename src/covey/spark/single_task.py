"""One function run in one task of Spark's, for work that must not be the driver's; and what tasks
that fail have said.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from covey._types import JsonObject
from covey.errors import CoveyError, extract_worker_error
from covey.spark.matching.worker_cache import freeze_gc

__all__ = ["reraise_worker_errors", "run_in_task"]


def run_in_task(spark: SparkSession, work: Callable[[], JsonObject]) -> JsonObject:
    """What `work` returns, which JSON must be able to hold; a `CoveyError` of it is raised here.

    Spark runs it again where it fails, so doing it twice must do no harm.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                yield pa.RecordBatch.from_pydict({"answer": [json.dumps(work())]})
        freeze_gc()

    with reraise_worker_errors():
        (row,) = spark.range(0, 1, 1, 1).mapInArrow(run, "answer string").collect()
    answer: dict[str, Any] = json.loads(row["answer"])
    return answer


@contextmanager
def reraise_worker_errors() -> Iterator[None]:
    """What covey says in a worker is said here, without Spark's traceback; so is what it lacks."""
    try:
        yield
    except PySparkException as error:
        if (raised := extract_worker_error(str(error))) is not None:
            raise raised from None
        if missing := re.search(r"ModuleNotFoundError: No module named '(\w+)", str(error)):
            raise CoveyError(
                f"Spark's workers have no {missing[1]}: they run another Python than this one. Set "
                f"PYSPARK_PYTHON={sys.executable} before Spark starts, or install covey in theirs"
            ) from None
        raise
