"""Formats of tables in files, by the suffix of the path or the content of a folder."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

from covey.errors import InvalidArgumentError

__all__ = ["FileFormat", "format_from_suffix", "is_local_path", "resolve_format", "to_spark_path"]


class FileFormat(StrEnum):
    """Formats of tables, by their names in Spark; JSON means one object per line."""

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
    """Return the format of a table: the requested one, or else the format of its path.

    The format of a path is that of its suffix; for a local folder without a known suffix it is that
    of the files in the folder.

    Args:
        path: path of the table.
        requested: the format that the user requests; None if the path determines it.
        label: name of the table in messages and options, such as `events`.

    Raises:
        InvalidArgumentError: the format is neither requested nor known from the path.

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
            f"the format of the {label} {path} is unknown: the suffix of the path is none of "
            f"{', '.join(_FORMAT_BY_SUFFIX)}; name the format with --{label}-format"
        )
    return known


def is_local_path(path: str) -> bool:
    """Return whether a path is a plain path on this machine, and not a URI."""
    return "://" not in path


def to_spark_path(path: str) -> str:
    """Return a path in a form that does not depend on Spark's default file system.

    >>> to_spark_path("/tmp/a b.csv"), to_spark_path("s3a://lake/events")
    ('file:///tmp/a b.csv', 's3a://lake/events')
    """
    return f"file://{Path(path).absolute()}" if is_local_path(path) else path


def format_from_suffix(path: str) -> FileFormat | None:
    """Return the format of a path's suffix, or None if the suffix is unknown.

    A suffix of a compression, such as .gz, is ignored.
    """
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
