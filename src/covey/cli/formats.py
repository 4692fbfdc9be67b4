"""Formats of tables in files, by suffix, and what Spark is told about each."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

from covey.errors import ValueRefused

__all__ = ["Format", "by_suffix", "format_of", "is_local", "spelled"]


class Format(StrEnum):
    """What Spark calls it. JSON is one object a line."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    DELTA = "delta"


_SUFFIXES = {
    ".parquet": Format.PARQUET, ".csv": Format.CSV, ".json": Format.JSON, ".jsonl": Format.JSON,
    ".ndjson": Format.JSON, ".delta": Format.DELTA,
}  # fmt: skip
_COMPRESSED = re.compile(r"\.(gz|bz2|zst|lz4|snappy|xz)$")


def format_of(path: str, given: Format | None, what: str) -> Format:
    """The format that was given, or that the path tells; `what` is the option's name for it.

    A folder without a suffix is known by the files in it.

    >>> format_of("s3://lake/events.csv.gz", None, "events").value
    'csv'
    """
    if given is not None:
        return given
    known = by_suffix(path) or (_by_content(Path(path)) if is_local(path) else None)
    if known is None:
        raise ValueRefused(
            f"no format is known for the {what} {path}: its suffix is none of "
            f"{', '.join(_SUFFIXES)}; say it with --{what}-format"
        )
    return known


def is_local(path: str) -> bool:
    """Whether a path is one of this machine."""
    return "://" not in path


def spelled(path: str) -> str:
    """A path as Spark takes it, whatever its default file system is.

    >>> spelled("/tmp/a b.csv"), spelled("s3a://lake/events")
    ('file:///tmp/a b.csv', 's3a://lake/events')
    """
    return f"file://{Path(path).absolute()}" if is_local(path) else path


def by_suffix(path: str) -> Format | None:
    """The format that a path's suffix tells, if it does."""
    name = _COMPRESSED.sub("", path.rstrip("/").rpartition("/")[2].lower())
    return _SUFFIXES.get(Path(name).suffix)


def _by_content(folder: Path) -> Format | None:
    if not folder.is_dir():
        return None
    if (folder / "_delta_log").is_dir():
        return Format.DELTA
    return next((f for f in map(by_suffix, sorted(p.name for p in folder.iterdir())) if f), None)
