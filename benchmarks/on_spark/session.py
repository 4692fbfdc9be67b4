"""The Spark session of the benchmark, and `drain`, which writes all rows into the sink `noop`.

The session has two cores, 6 GB for the JVM, and no UI. Each Python worker has one BLAS thread, so
that the two workers share two cores. Adaptive execution is on, as by default; a shuffle has 16
partitions.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

__all__ = ["DEFAULT_BATCH", "LARGE_BATCH", "batches_of", "drain", "session", "set_batch"]

DEFAULT_BATCH, LARGE_BATCH = 10_000, 50_000  # rows of an Arrow batch: Spark's default and a larger
_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
_ROOT = Path(__file__).parent.parent.parent
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
_CONFIG: dict[str, bool | float | int | str | None] = {
    "spark.driver.memory": "6g",
    "spark.sql.shuffle.partitions": "16",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


@contextmanager
def session(more: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Yield a session on two cores; workers can import the benchmarks from any folder.

    `more` is further Spark configuration.
    """
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    paths = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    builder = SparkSession.builder.master("local[2]").appName("spark-match")
    spark = builder.config(map={**_CONFIG, **(more or {})}).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def set_batch(spark: SparkSession, rows: int) -> None:
    """Set the number of rows of an Arrow batch for all later plans."""
    spark.conf.set(_BATCH, rows)


@contextmanager
def batches_of(spark: SparkSession, rows: int) -> Iterator[None]:
    """Set the number of rows of an Arrow batch until the block ends."""
    before = int(spark.conf.get(_BATCH) or DEFAULT_BATCH)
    set_batch(spark, rows)
    try:
        yield
    finally:
        set_batch(spark, before)


def drain(frame: DataFrame) -> None:
    """Compute all rows of a frame and discard them."""
    frame.write.format("noop").mode("overwrite").save()
