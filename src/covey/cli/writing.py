"""DataFrames written to files, and never over something by accident."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from covey.cli.formats import Format, format_of, is_local, spelled
from covey.cli.reading import Source
from covey.errors import ValueRefused

__all__ = ["Target", "check_apart", "exists_already"]


@dataclass(frozen=True, slots=True)
class Target:
    """A place to write a table to: a folder of files, as Spark writes them."""

    path: str
    format: Format
    overwrite: bool = False

    @classmethod
    def of(
        cls,
        path: str,
        given: Format | None,
        what: str,
        overwrite: bool,
        sources: Sequence[Source] = (),
    ) -> Target:
        """A place that may be written to, as far as can be told without Spark."""
        check_apart(path, sources)
        if is_local(path) and Path(path).exists() and not overwrite:
            raise exists_already(path)
        return cls(path, format_of(path, given, what), overwrite)

    def write(self, frame: DataFrame) -> None:
        """Writes all rows; where that fails, nothing is left of a new folder."""
        writer = frame.write.format(self.format.value)
        if self.format is Format.CSV:
            writer = writer.options(header=True, escape='"')
        is_new = is_local(self.path) and not Path(self.path).exists()
        try:
            mode = "overwrite" if self.overwrite else "errorifexists"
            writer.mode(mode).save(spelled(self.path))
        except BaseException:
            if is_new:
                shutil.rmtree(self.path, ignore_errors=True)
            raise

    def read(self, spark: SparkSession, schema: StructType) -> DataFrame:
        """What was written, with the types that it had."""
        reader = spark.read.format(self.format.value)
        if self.format is Format.CSV:
            reader = reader.options(header=True, escape='"')
        if self.format in (Format.CSV, Format.JSON):
            reader = reader.schema(schema)
        return reader.load(spelled(self.path))


def check_apart(path: str, sources: Sequence[Source]) -> None:
    """Refuses a place that is read from."""
    for source in sources:
        if is_local(path) and Path(source.path).absolute() == Path(path).absolute():
            raise ValueRefused(f"{path} holds the {source.what}: write to another place")


def exists_already(path: str) -> ValueRefused:
    """The error for a place that has something, which is not to be replaced."""
    return ValueRefused(
        f"{path} exists already: write to another place, or replace it with --overwrite"
    )
