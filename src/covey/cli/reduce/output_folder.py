"""The folder that `covey compact` writes: all of it, or nothing.

On this machine it is made under another name beside its place, and moved there when it is complete:
what was there before is replaced only then. Elsewhere it is written where it will be.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from covey._argument_checks import check_local_path
from covey.cli.io.formats import is_local_path, to_spark_path
from covey.cli.io.sources import TableSource
from covey.cli.io.targets import already_exists_error, check_not_a_source
from covey.errors import InvalidArgumentError

__all__ = ["PLOT_FILE", "SUMMARY_FILE", "DraftFolder", "OutputFolder"]

PLOT_FILE, SUMMARY_FILE = "compacted.png", "summary.json"
_KNOWN_FILES = {"active", "redundant", "filters", SUMMARY_FILE, PLOT_FILE}


@dataclass(frozen=True, slots=True)
class OutputFolder:
    """A place for a folder; `plot_path` is another place for its picture, if there is one."""

    path: str
    plot_path: str | None
    overwrite: bool

    @classmethod
    def from_options(
        cls, path: str, plot_path: str | None, *, overwrite: bool, sources: Sequence[TableSource]
    ) -> OutputFolder:
        """A folder that may be written, as far as can be told without Spark."""
        check_not_a_source(path, sources)
        if is_local_path(path):
            check_local_path("--out", path)
            _check_folder_path(Path(path), overwrite)
        if plot_path is not None:
            _check_plot_path(plot_path, overwrite, sources)
        return cls(path, plot_path, overwrite)

    @contextmanager
    def open_draft(self, spark: SparkSession) -> Iterator[DraftFolder]:
        """The folder while it is written. What fails inside leaves nothing of it on this machine;
        elsewhere nothing if it was new, unless the command is interrupted.
        """
        try:
            with (_open_local_draft if is_local_path(self.path) else _open_remote_draft)(
                self, spark
            ) as unfinished:
                yield unfinished
        except OSError as error:
            place = error.filename or self.path
            raise InvalidArgumentError(f"{place} cannot be written: {error.strerror}") from None


@dataclass(frozen=True, slots=True)
class DraftFolder:
    """Takes tables, which Spark writes as Parquet, and small files."""

    path: str
    spark: SparkSession
    save_mode: str = "errorifexists"

    def write_table(self, name: str, frame: DataFrame) -> None:
        """Writes a table as a folder in this one."""
        frame.write.mode(self.save_mode).parquet(f"{to_spark_path(self.path)}/{name}")

    def write_file(self, name: str, content: bytes) -> None:
        """Writes a file, on any file system that Spark knows."""
        if is_local_path(self.path):
            (Path(self.path) / name).write_bytes(content)
            return
        files, place = _resolve_hadoop_path(self.spark, f"{self.path.rstrip('/')}/{name}")
        stream = files.create(place, True)
        stream.write(bytearray(content))
        stream.close()


@contextmanager
def _open_local_draft(folder: OutputFolder, spark: SparkSession) -> Iterator[DraftFolder]:
    place = Path(folder.path).absolute()
    draft, old = (place.parent / f".{place.name}.{uuid4().hex[:12]}" for _ in range(2))
    try:
        draft.mkdir(parents=True)
        yield DraftFolder(str(draft), spark)
        if place.exists():
            place.rename(old)
        draft.rename(place)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def _open_remote_draft(folder: OutputFolder, spark: SparkSession) -> Iterator[DraftFolder]:
    files, place = _resolve_hadoop_path(spark, folder.path)
    is_new = not files.exists(place)
    if not is_new and not folder.overwrite:
        raise already_exists_error(folder.path)
    try:
        yield DraftFolder(folder.path, spark, "overwrite")
    except Exception:
        if is_new:
            files.delete(place, True)
        raise


def _check_folder_path(path: Path, overwrite: bool) -> None:
    above = next(one for one in path.absolute().parents if one.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise InvalidArgumentError(
            f"{path} cannot be written: {above} is no folder that you may change"
        )
    if not path.exists():
        return
    if not overwrite:
        raise already_exists_error(str(path))
    found = {one.name for one in path.iterdir()} if path.is_dir() else {""}
    if not found <= _KNOWN_FILES:
        raise InvalidArgumentError(
            f"{path} is no folder of a compaction, or has more in it, and is not replaced: write "
            "to another place, or remove it"
        )


def _check_plot_path(plot_path: str, overwrite: bool, sources: Sequence[TableSource]) -> None:
    check_not_a_source(plot_path, sources)
    check_local_path("--picture", plot_path)
    place = Path(plot_path)
    if not is_local_path(plot_path) or not place.absolute().parent.is_dir():
        raise InvalidArgumentError(
            f"no folder for the picture {plot_path}: name a file in a folder of this machine"
        )
    if place.suffix.lower() != ".png" or place.is_dir():
        raise InvalidArgumentError(
            f"the picture {plot_path} would be a PNG: name a file that ends in .png"
        )
    if place.exists() and not overwrite:
        raise already_exists_error(plot_path)


def _resolve_hadoop_path(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """The file system that a path is on, and the path, as Spark's Java has them."""
    jvm, java = spark.sparkContext._jvm, spark.sparkContext._jsc
    assert jvm is not None  # commands have a session of their own, never one of Spark Connect
    place = jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(java.hadoopConfiguration()), place
