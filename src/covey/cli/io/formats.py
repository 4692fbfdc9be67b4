"""Formats of tables in files, by the suffix of the path or the content of a folder."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

from covey.errors import InvalidArgumentError

__all__ = ["FileFormat", "format_from_suffix", "is_local_path", "resolve_format", "to_spark_path"]


class FileFormat(StrEnum):
    """Formats by their names in Spark; JSON has one object per line."""

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
    """Return the requested format, or the one of the path; `label` names the option.

    The format of a folder without a suffix is that of the files in it.

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
            f"the format of the {label} {path} is unknown: its suffix is none of "
            f"{', '.join(_FORMAT_BY_SUFFIX)}; name the format with --{label}-format"
        )
    return known


def is_local_path(path: str) -> bool:
    """Return whether a path is on this machine."""
    return "://" not in path


def to_spark_path(path: str) -> str:
    """Return a path for Spark that does not depend on its default file system.

    >>> to_spark_path("/tmp/a b.csv"), to_spark_path("s3a://lake/events")
    ('file:///tmp/a b.csv', 's3a://lake/events')
    """
    return f"file://{Path(path).absolute()}" if is_local_path(path) else path


def format_from_suffix(path: str) -> FileFormat | None:
    """Return the format of a suffix, or None if it is unknown."""
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
