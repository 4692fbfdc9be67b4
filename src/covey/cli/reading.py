"""Tables in files, read into DataFrames.

Types of CSV and JSON are inferred by Spark, times included, unless a schema is given. A row that
does not fit ends the command, instead of turning into nulls.
"""

from __future__ import annotations

import glob
from dataclasses import dataclass

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType, StringType, StructField, StructType

from covey.cli.failures import SPARK_ERRORS, said_by_spark
from covey.cli.formats import Format, format_of, is_local, spelled
from covey.errors import ValueRefused
from covey.quoting import quoted

__all__ = ["Source", "check_columns", "spread", "with_floats"]

_PARTS_PER_CORE = 4


@dataclass(frozen=True, slots=True)
class Source:
    """A table to read; `what` is what options and messages call it."""

    what: str
    path: str
    format: Format
    schema: str | None = None
    texts: tuple[str, ...] = ()
    """Columns that stay text in a CSV: an id such as 007 is no number."""

    @classmethod
    def of(
        cls,
        what: str,
        path: str,
        given: Format | None = None,
        schema: str | None = None,
        texts: tuple[str, ...] = (),
    ) -> Source:
        """A table that is there, as far as can be told without Spark."""
        if is_local(path) and not (glob.glob(glob.escape(path)) or glob.glob(path)):
            raise ValueRefused(f"no {what} at {path}: there is no such file or folder")
        format_ = format_of(path, given, what)
        if schema is not None and format_ not in (Format.CSV, Format.JSON):
            raise ValueRefused(
                f"--{what}-schema is for CSV and JSON: {format_.value} has a schema of its own"
            )
        return cls(what, path, format_, schema, texts)

    def read(self, spark: SparkSession) -> DataFrame:
        """The table, which has a row at least."""
        try:
            frame = self._frame(spark.read.format(self.format.value))
            is_empty = not frame.columns or frame.isEmpty()
        except SPARK_ERRORS as error:
            raise ValueRefused(
                f"the {self.what} at {self.path} cannot be read as {self.format.value}: "
                f"{said_by_spark(error)}; another format is said with --{self.what}-format"
            ) from None
        if is_empty:
            raise ValueRefused(f"the {self.what} at {self.path} are empty: give a table with rows")
        return frame

    def _frame(self, reader: DataFrameReader) -> DataFrame:
        if self.format is Format.CSV:
            # Quotes are doubled, as everything but Spark writes them. Predicates may have several
            # lines; events may not, so that Spark can split large files.
            is_long = self.what == "subscriptions"
            reader = reader.options(header=True, escape='"', mode="FAILFAST", multiLine=is_long)
        elif self.format is Format.JSON:
            reader = reader.options(inferTimestamp=True, mode="FAILFAST")
        if self.schema is not None:
            return reader.schema(self.schema).options(enforceSchema=False).load(spelled(self.path))
        if self.format is Format.CSV:
            inferred = reader.options(inferSchema=True).load(spelled(self.path)).schema
            return reader.schema(_with_texts(inferred, self.texts)).load(spelled(self.path))
        return reader.load(spelled(self.path))


def check_columns(frame: DataFrame, names: list[str], what: str) -> None:
    """Raises for the first name that is no column of a table."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        shown = ", ".join(frame.columns[:12]) + ("…" if len(frame.columns) > 12 else "")
        raise ValueRefused(f"the {what} have no column {missing[0]!r}: they have {shown}")


def with_floats(events: DataFrame, vectors: dict[str, int]) -> DataFrame:
    """Events whose vectors are lists of float32: those of JSON are lists of float64."""
    check_columns(events, list(vectors), "events")
    for name in vectors:
        type_ = events.schema[name].dataType
        if isinstance(type_, ArrayType) and isinstance(type_.elementType, DoubleType):
            events = events.withColumn(name, F.col(quoted(name)).cast("array<float>"))
    return events


def spread(frame: DataFrame) -> DataFrame:
    """A table in enough parts to keep all cores busy; a single file is often one part."""
    cores = frame.sparkSession.sparkContext.defaultParallelism
    is_spread = frame.rdd.getNumPartitions() >= cores
    return frame if is_spread else frame.repartition(_PARTS_PER_CORE * cores)


def _with_texts(schema: StructType, names: tuple[str, ...]) -> StructType:
    return StructType(
        [StructField(f.name, StringType()) if f.name in names else f for f in schema.fields]
    )
