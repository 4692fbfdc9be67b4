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

from covey.cli.formats import is_local, spelled
from covey.cli.reading import Source
from covey.cli.writing import check_apart, exists_already
from covey.errors import ValueRefused

__all__ = ["PICTURE", "SUMMARY", "Folder", "Unfinished"]

PICTURE, SUMMARY = "compacted.png", "summary.json"
_CONTENT = {"active", "passive", "filters", SUMMARY, PICTURE}


@dataclass(frozen=True, slots=True)
class Folder:
    """A place for a folder; `picture` is another place for its picture, if there is one."""

    path: str
    picture: str | None
    overwrite: bool

    @classmethod
    def of(
        cls, path: str, picture: str | None, overwrite: bool, sources: Sequence[Source]
    ) -> Folder:
        """A folder that may be written, as far as can be told without Spark."""
        check_apart(path, sources)
        if is_local(path):
            _check_folder(Path(path), overwrite)
        if picture is not None:
            _check_picture(picture, overwrite, sources)
        return cls(path, picture, overwrite)

    @contextmanager
    def unfinished(self, spark: SparkSession) -> Iterator[Unfinished]:
        """The folder while it is written. What fails inside leaves nothing of it on this machine;
        elsewhere nothing if it was new, unless the command is interrupted.
        """
        try:
            with (_beside if is_local(self.path) else _elsewhere)(self, spark) as unfinished:
                yield unfinished
        except OSError as error:
            place = error.filename or self.path
            raise ValueRefused(f"{place} cannot be written: {error.strerror}") from None


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Takes tables, which Spark writes as Parquet, and small files."""

    path: str
    spark: SparkSession
    mode: str = "errorifexists"

    def table(self, name: str, frame: DataFrame) -> None:
        """Writes a table as a folder in this one."""
        frame.write.mode(self.mode).parquet(f"{spelled(self.path)}/{name}")

    def file(self, name: str, content: bytes) -> None:
        """Writes a file, on any file system that Spark knows."""
        if is_local(self.path):
            (Path(self.path) / name).write_bytes(content)
            return
        files, place = _hadoop(self.spark, f"{self.path.rstrip('/')}/{name}")
        stream = files.create(place, True)
        stream.write(bytearray(content))
        stream.close()


@contextmanager
def _beside(folder: Folder, spark: SparkSession) -> Iterator[Unfinished]:
    place = Path(folder.path).absolute()
    draft, old = (place.parent / f".{place.name}.{uuid4().hex[:12]}" for _ in range(2))
    try:
        draft.mkdir(parents=True)
        yield Unfinished(str(draft), spark)
        if place.exists():
            place.rename(old)
        draft.rename(place)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def _elsewhere(folder: Folder, spark: SparkSession) -> Iterator[Unfinished]:
    files, place = _hadoop(spark, folder.path)
    is_new = not files.exists(place)
    if not is_new and not folder.overwrite:
        raise exists_already(folder.path)
    try:
        yield Unfinished(folder.path, spark, "overwrite")
    except Exception:
        if is_new:
            files.delete(place, True)
        raise


def _check_folder(place: Path, overwrite: bool) -> None:
    above = next(one for one in place.absolute().parents if one.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise ValueRefused(f"{place} cannot be written: {above} is no folder that you may change")
    if not place.exists():
        return
    if not overwrite:
        raise exists_already(str(place))
    found = {one.name for one in place.iterdir()} if place.is_dir() else {""}
    if not found <= _CONTENT:
        raise ValueRefused(
            f"{place} is no folder of a compaction, or has more in it, and is not replaced: write "
            "to another place, or remove it"
        )


def _check_picture(picture: str, overwrite: bool, sources: Sequence[Source]) -> None:
    check_apart(picture, sources)
    place = Path(picture)
    if not is_local(picture) or not place.absolute().parent.is_dir():
        raise ValueRefused(
            f"no folder for the picture {picture}: name a file in a folder of this machine"
        )
    if place.suffix.lower() != ".png" or place.is_dir():
        raise ValueRefused(f"the picture {picture} would be a PNG: name a file that ends in .png")
    if place.exists() and not overwrite:
        raise exists_already(picture)


def _hadoop(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """The file system that a path is on, and the path, as Spark's Java has them."""
    jvm, java = spark.sparkContext._jvm, spark.sparkContext._jsc
    assert jvm is not None  # commands have a session of their own, never one of Spark Connect
    place = jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(java.hadoopConfiguration()), place
