"""Tables in files, read into DataFrames.

Spark infers the types of CSV and JSON, times included, unless a schema is given. If a row does not
fit the schema, the command ends with an error; the row is not read as nulls.
"""

from __future__ import annotations

import glob
from dataclasses import dataclass

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from covey._argument_checks import check_local_path
from covey.cli.errors import SPARK_ERRORS, spark_error_message
from covey.cli.io.formats import FileFormat, is_local_path, resolve_format, to_spark_path
from covey.errors import InvalidArgumentError

__all__ = [
    "TableSource",
    "repartition_small",
    "split_for_matching",
]

_PARTITIONS_PER_CORE = 4
_MAX_PARTITIONS_PER_CORE = 64
_EVENTS_PER_PARTITION, _MATCHES_PER_PARTITION = 250, 500_000
_MAX_SHUFFLED_EVENTS = 5_000_000


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table to read; `label` is its name in options and messages, such as `events`."""

    label: str
    path: str
    format: FileFormat
    schema: str | None = None
    text_columns: tuple[str, ...] = ()
    """Columns that are read as text from a CSV without a schema: an id such as 007 is no number."""

    @classmethod
    def from_path(
        cls,
        label: str,
        path: str,
        *,
        requested_format: FileFormat | None = None,
        schema: str | None = None,
        text_columns: tuple[str, ...] = (),
    ) -> TableSource:
        """Return the table at a path, after all checks that need no Spark.

        Raises:
            InvalidArgumentError: the path does not exist, its format is unknown, or a schema is
                given for a format that needs none.
        """
        if is_local_path(path):
            check_local_path(f"the path of the {label}", path)
        if is_local_path(path) and not (glob.glob(glob.escape(path)) or glob.glob(path)):
            raise InvalidArgumentError(f"no {label} at {path}: there is no such file or folder")
        format_ = resolve_format(path, requested_format, label)
        if schema is not None and format_ not in (FileFormat.CSV, FileFormat.JSON):
            raise InvalidArgumentError(
                f"--{label}-schema is for CSV and JSON, but the format is {format_.value}, which "
                "contains a schema: leave the option out"
            )
        return cls(label, path, format_, schema, text_columns)

    def read(self, spark: SparkSession) -> DataFrame:
        """Read the table into a DataFrame.

        Raises:
            InvalidArgumentError: the table cannot be read, or has no rows.
        """
        try:
            frame = self._load_frame(spark.read.format(self.format.value))
            is_empty = not frame.columns or frame.isEmpty()
        except SPARK_ERRORS as error:
            raise self.unreadable_error(spark_error_message(error)) from None
        if is_empty:
            raise self.empty_error()
        return frame

    def unreadable_error(self, reason: str) -> InvalidArgumentError:
        """Return the error for a table that cannot be read."""
        return InvalidArgumentError(
            f"the {self.label} at {self.path} cannot be read as {self.format.value}: {reason}; "
            f"check the file, --{self.label}-format and --{self.label}-schema"
        )

    def empty_error(self, reason: str = "") -> InvalidArgumentError:
        """Return the error for a table without rows; the reason says what its file contains."""
        return InvalidArgumentError(
            f"the {self.label} at {self.path} are empty: {reason and reason + '; '}"
            "give a table with rows"
        )

    def _load_frame(self, reader: DataFrameReader) -> DataFrame:
        if self.format is FileFormat.CSV:
            # Quotes are doubled, as all programs except Spark write them. Predicates may have
            # several lines; events may not, so that Spark can split large files.
            is_long = self.label == "subscriptions"
            reader = reader.options(header=True, escape='"', mode="FAILFAST", multiLine=is_long)
        elif self.format is FileFormat.JSON:
            reader = reader.options(inferTimestamp=True, mode="FAILFAST")
        if self.schema is not None:
            return (
                reader.schema(self.schema)
                .options(enforceSchema=False)
                .load(to_spark_path(self.path))
            )
        if self.format is FileFormat.CSV:
            inferred = reader.options(inferSchema=True).load(to_spark_path(self.path)).schema
            return reader.schema(_with_string_columns(inferred, self.text_columns)).load(
                to_spark_path(self.path)
            )
        return reader.load(to_spark_path(self.path))


def repartition_small(frame: DataFrame) -> DataFrame:
    """Return a table with at least one partition per core; a single file is often one partition."""
    cores = frame.sparkSession.sparkContext.defaultParallelism
    is_spread = frame.rdd.getNumPartitions() >= cores
    return frame if is_spread else frame.repartition(_PARTITIONS_PER_CORE * cores)


def split_for_matching(events: DataFrame, event_count: int, match_count: int) -> DataFrame:
    """Return events in partitions with little work each, so that progress is visible.

    A partition gets about 250 events, or fewer if their expected matches are more than half a
    million. There are at most 64 partitions per core. Tables of more than five million events keep
    their partitions, because they already have many, and shuffling them would take long.

    Args:
        events: the events.
        event_count: number of events.
        match_count: expected number of all matches; 0 if it is not known.
    """
    cores = events.sparkSession.sparkContext.defaultParallelism
    by_work = max(event_count // _EVENTS_PER_PARTITION, match_count // _MATCHES_PER_PARTITION)
    partitions = max(cores, min(by_work, event_count, _MAX_PARTITIONS_PER_CORE * cores))
    is_split = events.rdd.getNumPartitions() >= partitions
    return (
        events if is_split or event_count > _MAX_SHUFFLED_EVENTS else events.repartition(partitions)
    )


def _with_string_columns(schema: StructType, names: tuple[str, ...]) -> StructType:
    return StructType(
        [StructField(f.name, StringType()) if f.name in names else f for f in schema.fields]
    )
