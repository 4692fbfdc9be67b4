"""The output folder of `covey reduce`.

A local folder is written completely or not at all: it is written under another name in the same
parent folder, and renamed when it is complete; only then an older one is replaced. On other file
systems the folder is written under its own name, so an interrupted command may leave a part of it.
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

PLOT_FILE, SUMMARY_FILE = "reduced.png", "summary.json"
_KNOWN_FILES = {"active", "redundant", "filters", SUMMARY_FILE, PLOT_FILE}


@dataclass(frozen=True, slots=True)
class OutputFolder:
    """Path of the folder; `plot_path` is the path of a picture outside the folder, or None."""

    path: str
    plot_path: str | None
    overwrite: bool

    @classmethod
    def from_options(
        cls, path: str, plot_path: str | None, *, overwrite: bool, sources: Sequence[TableSource]
    ) -> OutputFolder:
        """Return the folder, after all checks that need no Spark.

        Raises:
            InvalidArgumentError: the folder or the picture cannot be written, or must not be
                replaced.
        """
        check_not_a_source(path, sources)
        if is_local_path(path):
            check_local_path("--out", path)
            _check_folder_path(Path(path), overwrite)
        if plot_path is not None:
            _check_plot_path(plot_path, overwrite, sources)
        return cls(path, plot_path, overwrite)

    @contextmanager
    def open_draft(self, spark: SparkSession) -> Iterator[DraftFolder]:
        """Open the folder for writing.

        If the body fails, nothing of a local folder remains, and an older folder is not changed. On
        another file system the folder is deleted if it is new, unless the command is interrupted.

        Raises:
            InvalidArgumentError: the folder or a file in it cannot be written.
        """
        try:
            with (_open_local_draft if is_local_path(self.path) else _open_remote_draft)(
                self, spark
            ) as unfinished:
                yield unfinished
        except OSError as error:
            place = error.filename or self.path
            raise InvalidArgumentError(
                f"{place} cannot be written: {error.strerror or error}"
            ) from None


@dataclass(frozen=True, slots=True)
class DraftFolder:
    """The folder while it is written: Spark writes tables as Parquet, the driver small files."""

    path: str
    spark: SparkSession
    save_mode: str = "errorifexists"

    def write_table(self, name: str, frame: DataFrame) -> None:
        """Write a table as a subfolder."""
        frame.write.mode(self.save_mode).parquet(f"{to_spark_path(self.path)}/{name}")

    def write_file(self, name: str, content: bytes) -> None:
        """Write a file, on any file system that Spark knows."""
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
            f"{path} cannot be written: {above} is not a folder with write permission; name "
            "another folder with --out"
        )
    if not path.exists():
        return
    if not overwrite:
        raise already_exists_error(str(path))
    found = {one.name for one in path.iterdir()} if path.is_dir() else {""}
    if not found <= _KNOWN_FILES:
        raise InvalidArgumentError(
            f"{path} is not replaced, because it is not a folder that contains only a reduction: "
            f"write to another path, or remove {path}"
        )


def _check_plot_path(plot_path: str, overwrite: bool, sources: Sequence[TableSource]) -> None:
    check_not_a_source(plot_path, sources)
    check_local_path("--picture", plot_path)
    place = Path(plot_path)
    if not is_local_path(plot_path) or not place.absolute().parent.is_dir():
        raise InvalidArgumentError(f"the picture {plot_path} must be in an existing local folder")
    if place.suffix.lower() != ".png" or place.is_dir():
        raise InvalidArgumentError(
            f"the picture {plot_path} must be a PNG: name a file that ends in .png"
        )
    if place.exists() and not overwrite:
        raise already_exists_error(plot_path)


def _resolve_hadoop_path(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Return the file system of a path, and the path, as Java objects of Hadoop."""
    jvm, java = spark.sparkContext._jvm, spark.sparkContext._jsc
    assert jvm is not None  # commands have a session of their own, never one of Spark Connect
    place = jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(java.hadoopConfiguration()), place
