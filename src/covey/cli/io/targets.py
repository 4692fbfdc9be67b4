"""DataFrames written to files, and never over something by accident."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from covey._argument_checks import check_local_path
from covey.cli.io.formats import FileFormat, is_local_path, resolve_format, to_spark_path
from covey.cli.io.sources import TableSource
from covey.errors import InvalidArgumentError

__all__ = ["TableTarget", "already_exists_error", "check_not_a_source"]


@dataclass(frozen=True, slots=True)
class TableTarget:
    """A place to write a table to: a folder of files, as Spark writes them."""

    path: str
    format: FileFormat
    overwrite: bool = False

    @classmethod
    def from_path(
        cls,
        path: str,
        requested_format: FileFormat | None,
        label: str,
        *,
        overwrite: bool,
        sources: Sequence[TableSource] = (),
    ) -> TableTarget:
        """A place that may be written to, as far as can be told without Spark."""
        check_not_a_source(path, sources)
        if is_local_path(path):
            check_local_path(f"the {label}", path)
        if is_local_path(path) and Path(path).exists() and not overwrite:
            raise already_exists_error(path)
        return cls(path, resolve_format(path, requested_format, label), overwrite)

    def write(self, frame: DataFrame) -> None:
        """Writes all rows; where that fails, nothing is left of a new folder."""
        writer = frame.write.format(self.format.value)
        if self.format is FileFormat.CSV:
            writer = writer.options(header=True, escape='"')
        is_new = is_local_path(self.path) and not Path(self.path).exists()
        try:
            mode = "overwrite" if self.overwrite else "errorifexists"
            writer.mode(mode).save(to_spark_path(self.path))
        except BaseException:
            if is_new:
                shutil.rmtree(self.path, ignore_errors=True)
            raise

    def read(self, spark: SparkSession, schema: StructType) -> DataFrame:
        """What was written, with the types that it had."""
        reader = spark.read.format(self.format.value)
        if self.format is FileFormat.CSV:
            reader = reader.options(header=True, escape='"')
        if self.format in (FileFormat.CSV, FileFormat.JSON):
            reader = reader.schema(schema)
        return reader.load(to_spark_path(self.path))


def check_not_a_source(path: str, sources: Sequence[TableSource]) -> None:
    """Refuses a place that is read from."""
    for source in sources:
        if is_local_path(path) and Path(source.path).absolute() == Path(path).absolute():
            raise InvalidArgumentError(f"{path} holds the {source.label}: write to another place")


def already_exists_error(path: str) -> InvalidArgumentError:
    """The error for a place that has something, which is not to be replaced."""
    return InvalidArgumentError(
        f"{path} exists already: write to another place, or replace it with --overwrite"
    )
