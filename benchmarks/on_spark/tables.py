"""Workloads as Parquet tables, which Spark's tasks generate when they are first used.

No process holds more than an Arrow batch of rows. A table has eight files, which two cores share
evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from benchmarks.on_spark.draw import balls, events, predicates, ranges
from benchmarks.on_spark.session import batches_of
from covey.workload.block_rng import BLOCK_ROWS

__all__ = ["WIDTH", "Tables"]

WIDTH = 60  # columns of a wide table
_FILES = 8

Draw = Callable[[str, int, int], pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables of workloads in a folder; `id` and `event_id` are row numbers."""

    spark: SparkSession
    folder: Path

    def events(self, workload: str, count: int) -> DataFrame:
        """Return events with `event_id` and the attributes."""
        return self._drawn("events", events, workload, count)

    def wide_events(self, workload: str, count: int) -> DataFrame:
        """Return events with further columns that no subscription constrains, `WIDTH` in all.

        These are integers, texts and doubles in turn.
        """
        path = self.folder / f"wide-{workload}-{count}"
        if not path.exists():
            narrow = self.events(workload, count)
            noise = [_noise(n) for n in range(WIDTH - len(narrow.columns))]
            narrow.select("*", *noise).write.parquet(str(path))
        return self.spark.read.parquet(str(path))

    def predicates(self, workload: str, count: int) -> DataFrame:
        """Return subscriptions with `id` and `predicate`."""
        return self._drawn("predicates", predicates, workload, count)

    def ranges(self, workload: str, count: int) -> DataFrame:
        """Return boxes with `id` and the columns `x1_low`, `x1_high`, … of all attributes."""
        return self._drawn("ranges", ranges, workload, count)

    def balls(self, workload: str, count: int) -> DataFrame:
        """Return balls with `id`, `centre` and `radius`."""
        return self._drawn("balls", balls, workload, count)

    def _drawn(self, kind: str, draw: Draw, workload: str, count: int) -> DataFrame:
        path = self.folder / f"{kind}-{workload}-{count}"
        if not path.exists():
            schema = from_arrow_schema(draw(workload, 0, 1).schema)

            def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
                for batch in batches:
                    if batch.num_rows:
                        numbers = batch.column(0)
                        yield draw(workload, numbers[0].as_py(), numbers[-1].as_py() + 1)

            numbers = self.spark.range(0, count, 1, _FILES)
            with batches_of(self.spark, 4 * BLOCK_ROWS):
                numbers.mapInArrow(rows, schema).write.parquet(str(path))
        return self.spark.read.parquet(str(path))


def _noise(number: int) -> Column:
    value = F.pmod(F.xxhash64("event_id", F.lit(number)), F.lit(1000))
    kind = ("long", "string", "double")[number % 3]
    return value.cast(kind).alias(f"other_{number}")
