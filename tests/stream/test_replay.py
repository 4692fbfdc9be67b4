"""Replay ranges are divided into pieces, each with the version of its decision."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import InvalidArgumentError, StoreError, StreamError
from covey.store.storage.local import LocalBackend
from covey.stream.batches.decision_log import BatchDecision, DecisionLog, OffsetRanges
from covey.stream.config import StreamConfig
from covey.stream.replay import ReplayRange, open_version, parse_offsets
from tests.stream.simple import change, create, follow
from tests.stream.test_config import LEAST


def record_batches(folder: Path, *batches: OffsetRanges) -> DecisionLog:
    """Record decisions one after another; batch i was decided by version i."""
    records = DecisionLog(LocalBackend(folder))
    for i, events in enumerate(batches):
        path = records.storage.local_path(
            records.record_if_absent(BatchDecision("q", i, events, i, 0, 0)).file_name
        )
        assert path is not None
        os.utime(path, (i, i))
    return records


def split_by_version(past: ReplayRange, records: DecisionLog) -> list[tuple[int, ReplayRange]]:
    """Return the pieces of a range, each with the version that decided it."""
    return [(decision.version, piece) for decision, piece in past.split_by_decision(records)]


def versions(past: ReplayRange, records: DecisionLog) -> dict[tuple[str, str, int], int]:
    """Return the version of each event, which must be in one piece only."""
    found: dict[tuple[str, str, int], int] = {}
    for decision, piece in past.split_by_decision(records):
        assert piece.start_offsets.keys() == piece.end_offsets.keys()
        for topic, offsets in piece.start_offsets.items():
            for partition, first in offsets.items():
                for offset in range(first, piece.end_offsets[topic][partition]):
                    assert (topic, partition, offset) not in found
                    found[topic, partition, offset] = decision.version
    return found


def test_a_range_is_divided_by_batches(tmp_path: Path) -> None:
    records = record_batches(
        tmp_path,
        {"ads": {"0": (0, 5), "1": (0, 2)}},
        {"ads": {"0": (5, 9), "1": (2, 2)}},
        {"ads": {"0": (9, 20), "1": (2, 7)}},
    )
    past = ReplayRange({"ads": {"0": 3, "1": 1}}, {"ads": {"0": 12, "1": 4}})
    assert split_by_version(past, records) == [
        (2, ReplayRange({"ads": {"0": 9, "1": 2}}, {"ads": {"0": 12, "1": 4}})),
        (1, ReplayRange({"ads": {"0": 5}}, {"ads": {"0": 9}})),
        (0, ReplayRange({"ads": {"0": 3, "1": 1}}, {"ads": {"0": 5, "1": 2}})),
    ]


def test_an_event_of_several_batches_belongs_to_the_last(tmp_path: Path) -> None:
    records = record_batches(tmp_path, {"ads": {"0": (0, 9)}}, {"ads": {"0": (6, 9)}})
    assert list(versions(ReplayRange({"ads": {"0": 4}}, {"ads": {"0": 8}}), records).values()) == [
        1, 1, 0, 0,
    ]  # fmt: skip


def test_a_batch_may_surround_a_later_one(tmp_path: Path) -> None:
    records = record_batches(tmp_path, {"ads": {"0": (0, 9)}}, {"ads": {"0": (4, 6)}})
    past = ReplayRange({"ads": {"0": 0}}, {"ads": {"0": 9}})
    assert versions(past, records) == {("ads", "0", i): int(4 <= i < 6) for i in range(9)}


def test_an_empty_range_of_a_partition_needs_no_batch(tmp_path: Path) -> None:
    records = record_batches(tmp_path, {"ads": {"0": (0, 9)}})
    past = ReplayRange({"ads": {"0": 7, "1": 4, "2": 5}}, {"ads": {"0": 9, "1": 4, "2": 3}})
    assert split_by_version(past, records) == [
        (0, ReplayRange({"ads": {"0": 7}}, {"ads": {"0": 9}}))
    ]


def test_a_range_without_events_is_reported(tmp_path: Path) -> None:
    records = record_batches(tmp_path, {"ads": {"0": (0, 9)}})
    for first, end in ((4, 4), (9, 7)):
        said = "the range contains no event: in each partition its first offset"
        with pytest.raises(StreamError, match=said):
            ReplayRange({"ads": {"1": first}}, {"ads": {"1": end}}).split_by_decision(records)


RANGES = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted).map(tuple)


@given(st.lists(st.dictionaries(st.sampled_from("01"), RANGES), max_size=6), RANGES, RANGES)
def test_each_event_is_decided_by_its_last_batch(
    batches: list[dict[str, tuple[int, int]]], one: tuple[int, int], other: tuple[int, int]
) -> None:
    offset_ranges = {"0": one, "1": other}
    past = ReplayRange({"ads": {p: r[0] for p, r in offset_ranges.items()}},
                {"ads": {p: r[1] for p, r in offset_ranges.items()}})  # fmt: skip
    expected = {
        ("ads", p, offset): max(
            (i for i, batch in enumerate(batches) if offset in range(*batch.get(p, (0, 0)))),
            default=None,
        )
        for p, r in offset_ranges.items()
        for offset in range(*r)
    }
    with tempfile.TemporaryDirectory() as folder, patch("os.fsync"):
        records = record_batches(Path(folder), *({"ads": batch} for batch in batches))
        if None in expected.values() or not expected:
            said = "no batch decision contains" if expected else "the range contains no event"
            with pytest.raises(StreamError, match=said):
                past.split_by_decision(records)
        else:
            assert versions(past, records) == expected


def test_events_without_a_decision_are_reported(tmp_path: Path) -> None:
    records = record_batches(tmp_path, {"ads": {"0": (3, 5)}}, {"ads": {"0": (5, 9)}})
    for first, end, from_, to in ((2, 5, 2, 3), (4, 11, 9, 11)):
        said = f"'ads' partition 0 from offset {from_} up to, but not including, {to}: "
        with pytest.raises(StreamError, match=f"{said}.*retention_s.*--version"):
            ReplayRange({"ads": {"0": first}}, {"ads": {"0": end}}).split_by_decision(records)
    with pytest.raises(StreamError, match="partition 1 from offset 0 up to, but not including, 1"):
        ReplayRange({"ads": {"1": 0}}, {"ads": {"1": 1}}).split_by_decision(records)


def test_offsets_are_read_as_spark_writes_them() -> None:
    assert parse_offsets('{"ads": {"0": 12, "1": 7}}') == {"ads": {"0": 12, "1": 7}}
    assert parse_offsets("{}") == {}


@pytest.mark.parametrize("text", ["", "5", "[]", '{"ads": 5}', '{"ads": {"x": 1}}', '{"ads": [1]}'])
def test_invalid_offsets_are_refused(text: str) -> None:
    said = r'is not a set of offsets: write {"topic": {"0": 1200'
    with pytest.raises(InvalidArgumentError, match=said):
        parse_offsets(text)


def test_the_newest_or_a_named_version_is_opened(tmp_path: Path) -> None:
    config = StreamConfig.from_toml(LEAST).with_resolved_paths(tmp_path)
    with create(tmp_path / "state" / "store") as store:
        follow(store, change("x", 100))
    assert open_version(config, None).manifest.version == 1
    assert open_version(config, 0).manifest.version == 0
    with pytest.raises(StoreError, match=r"7.*kept for .state. retention_s = 3600 seconds after"):
        open_version(config, 7)
