"""Formats by suffix and by what a folder holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from covey.cli.io.formats import FileFormat, resolve_format
from covey.cli.options import parse_vector_lengths
from covey.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("a.parquet", FileFormat.PARQUET),
        ("folder/", None),
        ("a.PARQUET", FileFormat.PARQUET),
        ("events.parquet/", FileFormat.PARQUET),
        ("a.csv.gz", FileFormat.CSV),
        ("a.b.ndjson", FileFormat.JSON),
        ("s3a://lake/a.delta", FileFormat.DELTA),
        ("s3a://lake.csv/a", None),
        ("a.txt", None),
        ("a.gz", None),
    ],
)
def test_suffixes(path: str, known: FileFormat | None) -> None:
    if known is None:
        with pytest.raises(InvalidArgumentError, match="--events-format"):
            resolve_format(path, None, "events")
    else:
        assert resolve_format(path, None, "events") is known
    assert resolve_format(path, FileFormat.CSV, "events") is FileFormat.CSV


def test_a_folder_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").touch()
    with pytest.raises(InvalidArgumentError):
        resolve_format(str(tmp_path), None, "events")
    (tmp_path / "part-0.json").touch()
    assert resolve_format(str(tmp_path), None, "events") is FileFormat.JSON
    (tmp_path / "_delta_log").mkdir()
    assert resolve_format(str(tmp_path), None, "events") is FileFormat.DELTA


def test_vectors_are_lengths_by_column() -> None:
    assert parse_vector_lengths(["a=2", "b=c=3"]) == {"a": 2, "b=c": 3}
    with pytest.raises(InvalidArgumentError, match="COLUMN=LENGTH"):
        parse_vector_lengths(["a=two"])
