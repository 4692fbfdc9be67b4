"""Script that loads the classes of Spark sessions into an archive of Java: `make integration`.

A process that starts Spark spends a third of its time on reading and checking the same classes.
Java can write them to a file when it ends. Later processes load them from this file if they run the
same Java with the same jars; otherwise Java ignores the file.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession


def load(folder: Path) -> None:
    """Run a small job with each feature that tests use: tables, text, workers and a stream."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    rows = spark.range(10).selectExpr("id", "cast(id AS string) AS name", "array(id) AS ids")
    for form, chosen in (("parquet", rows), ("json", rows), ("csv", rows.drop("ids"))):
        chosen.write.format(form).save(str(folder / form))
        spark.read.format(form).load(str(folder / form)).collect()
    counted = rows.join(rows.groupBy("id").count(), "id")
    counted.mapInArrow(_same, "id BIGINT, name STRING").collect()
    events = spark.readStream.schema(rows.schema).parquet(str(folder / "parquet"))
    writer = events.writeStream.trigger(availableNow=True).foreachBatch(_count)
    writer.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()
    spark.stop()


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.select(["id", "name"])


def _count(rows: DataFrame, _number: int) -> None:
    rows.count()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        load(Path(name))
