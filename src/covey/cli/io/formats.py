"""Formats of tables in files, by suffix, and what Spark is told about each."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

from covey.errors import InvalidArgumentError

__all__ = ["FileFormat", "format_from_suffix", "is_local_path", "resolve_format", "to_spark_path"]


class FileFormat(StrEnum):
    """What Spark calls it. JSON is one object a line."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    DELTA = "delta"


_FORMAT_BY_SUFFIX = {
    ".parquet": FileFormat.PARQUET,
    ".csv": FileFormat.CSV,
    ".json": FileFormat.JSON,
    ".jsonl": FileFormat.JSON,
    ".ndjson": FileFormat.JSON,
    ".delta": FileFormat.DELTA,
}
_COMPRESSION_SUFFIX = re.compile(r"\.(gz|bz2|zst|lz4|snappy|xz)$")


def resolve_format(path: str, requested: FileFormat | None, label: str) -> FileFormat:
    """The format that was given, or that the path tells; `what` is the option's name for it.

    A folder without a suffix is known by the files in it.

    >>> resolve_format("s3://lake/events.csv.gz", None, "events").value
    'csv'
    """
    if requested is not None:
        return requested
    known = format_from_suffix(path) or (
        _format_from_content(Path(path)) if is_local_path(path) else None
    )
    if known is None:
        raise InvalidArgumentError(
            f"no format is known for the {label} {path}: its suffix is none of "
            f"{', '.join(_FORMAT_BY_SUFFIX)}; say it with --{label}-format"
        )
    return known


def is_local_path(path: str) -> bool:
    """Whether a path is one of this machine."""
    return "://" not in path


def to_spark_path(path: str) -> str:
    """A path as Spark takes it, whatever its default file system is.

    >>> to_spark_path("/tmp/a b.csv"), to_spark_path("s3a://lake/events")
    ('file:///tmp/a b.csv', 's3a://lake/events')
    """
    return f"file://{Path(path).absolute()}" if is_local_path(path) else path


def format_from_suffix(path: str) -> FileFormat | None:
    """The format that a path's suffix tells, if it does."""
    name = _COMPRESSION_SUFFIX.sub("", path.rstrip("/").rpartition("/")[2].lower())
    return _FORMAT_BY_SUFFIX.get(Path(name).suffix)


def _format_from_content(folder: Path) -> FileFormat | None:
    if not folder.is_dir():
        return None
    if (folder / "_delta_log").is_dir():
        return FileFormat.DELTA
    return next(
        (f for f in map(format_from_suffix, sorted(p.name for p in folder.iterdir())) if f), None
    )
