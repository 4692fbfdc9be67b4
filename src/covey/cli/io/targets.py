"""DataFrames written to files; an existing file or folder is replaced only on request.

Spark writes a folder of part files. If the path of a target names a file (`matches.csv`) and the
parts are small enough, they are concatenated into this one file. Otherwise the folder gets this
name.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from covey._argument_checks import check_local_path
from covey.cli.io.formats import (
    FileFormat,
    format_from_suffix,
    is_local_path,
    resolve_format,
    to_spark_path,
)
from covey.cli.io.sources import TableSource
from covey.errors import InvalidArgumentError

__all__ = ["MAX_FILE_BYTES", "TableTarget", "already_exists_error", "check_not_a_source"]

MAX_FILE_BYTES = 1 << 30
"""Largest total size of parts that are joined to one file."""


@dataclass(frozen=True, slots=True)
class TableTarget:
    """A table to write: a single file if its path names one, otherwise a folder of files."""

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
        """Return the target at a path, after all checks that need no Spark.

        Args:
            path: the path.
            requested_format: the format; None if the suffix of the path determines it.
            label: name of the table in messages and options, such as `output`.
            overwrite: whether an existing file or folder may be replaced.
            sources: tables that the command reads, which must not be replaced.

        Raises:
            InvalidArgumentError: the path exists and must not be replaced, or its format is
                unknown.
        """
        check_not_a_source(path, sources)
        if is_local_path(path):
            check_local_path(f"the path of the {label}", path)
        if is_local_path(path) and Path(path).exists() and not overwrite:
            raise already_exists_error(path)
        return cls(path, resolve_format(path, requested_format, label), overwrite)

    @property
    def is_file(self) -> bool:
        """Whether the path names a single file: a local path with the suffix of the format.

        Delta tables, and compressions other than gzip of CSV and JSON, are always folders.
        """
        is_compressed = self.path.lower().endswith((".bz2", ".zst", ".lz4", ".snappy", ".xz"))
        return (
            is_local_path(self.path)
            and self.format is not FileFormat.DELTA
            and format_from_suffix(self.path) is self.format
            and not is_compressed
            and not (self.format is FileFormat.PARQUET and self.path.lower().endswith(".gz"))
        )

    def write(self, frame: DataFrame) -> None:
        """Write all rows of a DataFrame.

        A single file replaces an old one only after all rows are written. If writing a new folder
        on this machine fails, the folder is deleted.
        """
        if self.is_file:
            self._write_file(frame)
            return
        is_new = is_local_path(self.path) and not Path(self.path).exists()
        try:
            self._write_folder(frame, self.path)
        except BaseException:
            if is_new:
                shutil.rmtree(self.path, ignore_errors=True)
            raise

    def read(self, spark: SparkSession, schema: StructType) -> DataFrame:
        """Return the rows that were written; `schema` contains their types."""
        return self._read(spark, self.path, schema)

    def _read(self, spark: SparkSession, path: str, schema: StructType) -> DataFrame:
        reader = spark.read.format(self.format.value)
        if self.format is FileFormat.CSV:
            reader = reader.options(header=True, escape='"')
        if self.format in (FileFormat.CSV, FileFormat.JSON):
            reader = reader.schema(schema)
        return reader.load(to_spark_path(path))

    def _write_folder(self, frame: DataFrame, path: str) -> None:
        writer = frame.write.format(self.format.value)
        if self.format is FileFormat.CSV:
            writer = writer.options(header=True, escape='"')
        writer.mode("overwrite" if self.overwrite else "errorifexists").save(to_spark_path(path))

    def _write_file(self, frame: DataFrame) -> None:
        """Write parts beside the target, join them, and rename the result to the target."""
        target = Path(self.path).absolute()
        draft = target.with_name(f".{target.name}.{uuid4().hex[:8]}")  # Spark skips such names
        parts, joined = draft / "parts", draft / "joined"
        try:
            self._write_folder(frame, str(parts))
            result = parts
            if sum(part.stat().st_size for part in _list_parts(parts)) <= MAX_FILE_BYTES:
                result = joined
                if self.format is FileFormat.PARQUET:
                    once = self._read(frame.sparkSession, str(parts), frame.schema).coalesce(1)
                    self._write_folder(once, str(draft / "one"))
                    _list_parts(draft / "one")[0].rename(joined)
                else:
                    _concatenate(
                        _list_parts(parts), joined, has_header=self.format is FileFormat.CSV,
                        is_compressed=target.name.lower().endswith(".gz"),
                    )  # fmt: skip
            if target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink(missing_ok=True)
            result.rename(target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _list_parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-*"))


def _concatenate(parts: list[Path], target: Path, *, has_header: bool, is_compressed: bool) -> None:
    """Join text files, with the common header of the parts of a CSV only once."""
    open_: Callable[[Path, str], IO[Any]] = gzip.open if is_compressed else open  # type: ignore[assignment]
    with open_(target, "wb") as joined:
        header = _find_header(parts) if has_header else b""
        joined.write(header)
        for part in parts:
            with part.open("rb") as rows:
                if header and rows.read(len(header)) != header:
                    rows.seek(0)
                shutil.copyfileobj(rows, joined)


def _find_header(parts: list[Path]) -> bytes:
    """Return the header of the first part that is not empty; quoted names may have line breaks."""
    for part in parts:
        with part.open("rb") as rows:
            header = b""
            for line in rows:
                header += line
                if header.count(b'"') % 2 == 0:
                    return header
    return b""


def check_not_a_source(path: str, sources: Sequence[TableSource]) -> None:
    """Raise InvalidArgumentError if a path is that of a table that the command reads."""
    for source in sources:
        if is_local_path(path) and Path(source.path).absolute() == Path(path).absolute():
            raise InvalidArgumentError(f"{path} contains the {source.label}: write to another path")


def already_exists_error(path: str) -> InvalidArgumentError:
    """Return the error for a path that exists and must not be replaced."""
    return InvalidArgumentError(
        f"{path} exists already: write to another path, or replace it with --overwrite"
    )
