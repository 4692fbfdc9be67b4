"""Formats by suffix and by what a folder holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from covey.cli.formats import Format, format_of
from covey.cli.options import lengths
from covey.errors import ValueRefused


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("a.parquet", Format.PARQUET),
        ("folder/", None),
        ("a.PARQUET", Format.PARQUET),
        ("events.parquet/", Format.PARQUET),
        ("a.csv.gz", Format.CSV),
        ("a.b.ndjson", Format.JSON),
        ("s3a://lake/a.delta", Format.DELTA),
        ("s3a://lake.csv/a", None),
        ("a.txt", None),
        ("a.gz", None),
    ],
)
def test_suffixes(path: str, known: Format | None) -> None:
    if known is None:
        with pytest.raises(ValueRefused, match="--events-format"):
            format_of(path, None, "events")
    else:
        assert format_of(path, None, "events") is known
    assert format_of(path, Format.CSV, "events") is Format.CSV


def test_a_folder_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").touch()
    with pytest.raises(ValueRefused):
        format_of(str(tmp_path), None, "events")
    (tmp_path / "part-0.json").touch()
    assert format_of(str(tmp_path), None, "events") is Format.JSON
    (tmp_path / "_delta_log").mkdir()
    assert format_of(str(tmp_path), None, "events") is Format.DELTA


def test_vectors_are_lengths_by_column() -> None:
    assert lengths(["a=2", "b=c=3"]) == {"a": 2, "b=c": 3}
    with pytest.raises(ValueRefused, match="COLUMN=LENGTH"):
        lengths(["a=two"])
