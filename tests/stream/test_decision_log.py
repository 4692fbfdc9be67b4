"""The decision log: the first decision of a batch counts, the newest stays, events have a batch."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from covey.store.storage.backend import PARTIAL_SUFFIX
from covey.store.storage.local import LocalBackend
from covey.stream.batches.decision_log import BatchDecision, DecisionLog, OffsetRanges

EVENTS: OffsetRanges = {"ads": {"0": (5, 9), "1": (2, 2)}, "offers": {"0": (0, 3)}}


@pytest.fixture
def records(tmp_path: Path) -> DecisionLog:
    return DecisionLog(LocalBackend(tmp_path))


def batch(
    number: int, version: int = 1, events: OffsetRanges = EVENTS, query: str = "q"
) -> BatchDecision:
    return BatchDecision(query, number, events, version, 1000 + number, 0)


def record_aged(records: DecisionLog, record: BatchDecision, seconds: float) -> BatchDecision:
    """Record a decision with a file time that many seconds ago."""
    recorded = records.record_if_absent(record)
    path = records.storage.local_path(record.file_name)
    assert path is not None
    os.utime(path, (time.time() - seconds,) * 2)
    return recorded


def test_a_decision_is_found_as_it_was_recorded(records: DecisionLog) -> None:
    assert records.find("q", 3, EVENTS) is None
    assert records.record_if_absent(batch(3, 7)) == batch(3, 7)
    assert records.find("q", 3, EVENTS) == batch(3, 7)
    assert list(records.iter_newest_first()) == [batch(3, 7)]


def test_equal_offset_ranges_in_any_order_or_form_find_the_decision(records: DecisionLog) -> None:
    records.record_if_absent(batch(3, 7))
    same = {"offers": {"0": [0, 3]}, "ads": {"1": [2, 2], "0": [5, 9]}}
    assert records.find("q", 3, same) == batch(3, 7)  # type: ignore[arg-type]


def test_a_second_decision_is_replaced_by_the_recorded_one(records: DecisionLog) -> None:
    records.record_if_absent(batch(3, 7))
    assert records.record_if_absent(BatchDecision("q", 3, EVENTS, 8, 5000, 0)) == batch(3, 7)
    assert records.find("q", 3, EVENTS) == batch(3, 7)


def test_concurrent_decisions_of_a_batch_are_one(records: DecisionLog) -> None:
    found: list[BatchDecision] = []
    threads = [
        threading.Thread(target=lambda v=v: found.append(records.record_if_absent(batch(3, v))))
        for v in range(8)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [found[0]] * 8
    assert list(records.iter_newest_first()) == [found[0]]


@pytest.mark.parametrize(
    "other",
    [
        batch(3, 8, {"ads": {"0": (5, 10), "1": (2, 2)}, "offers": {"0": (0, 3)}}),
        batch(3, 8, query="another"),
        batch(4, 8),
    ],
)
def test_other_events_batches_and_queries_are_other_decisions(
    records: DecisionLog, other: BatchDecision
) -> None:
    records.record_if_absent(batch(3, 7))
    assert records.record_if_absent(other) == other
    assert records.find("q", 3, EVENTS) == batch(3, 7)
    assert records.find(other.query, other.batch, other.events) == other


def test_errors_of_the_disk_are_raised(records: DecisionLog, tmp_path: Path) -> None:
    (tmp_path / "batches").write_text("no folder")
    with pytest.raises(OSError, match="batches"):
        records.record_if_absent(batch(3))


def test_a_decision_knows_its_events() -> None:
    record = batch(3)
    assert record.max_event_count == 7
    assert [record.contains("ads", 0, offset) for offset in (4, 5, 8, 9)] == [
        False,
        True,
        True,
        False,
    ]
    assert not record.contains("ads", 1, 2)
    assert not record.contains("ads", 2, 0)
    assert not record.contains("other", 0, 5)


def test_an_event_is_found_in_the_last_batch_that_contained_it(records: DecisionLog) -> None:
    record_aged(records, batch(0, 1, {"ads": {"0": (0, 5)}}), 50)
    record_aged(records, batch(1, 2, {"ads": {"0": (5, 9)}}), 40)
    record_aged(records, batch(0, 9, {"ads": {"0": (3, 6)}}, query="later"), 30)
    found = [records.find_by_event("ads", 0, offset) for offset in (2, 3, 5, 6, 9)]
    assert [one and one.version for one in found] == [1, 9, 9, 2, None]


def test_decisions_are_listed_newest_first(records: DecisionLog) -> None:
    for number, seconds in ((5, 30), (6, 10), (7, 20)):
        record_aged(records, batch(number), seconds)
    assert [one.batch for one in records.iter_newest_first()] == [6, 7, 5]


def test_the_higher_batch_is_newer_at_the_same_time(records: DecisionLog) -> None:
    now = time.time()
    for number in (10, 9, 100):
        path = records.storage.local_path(records.record_if_absent(batch(number)).file_name)
        assert path is not None
        os.utime(path, (now, now))
    assert [one.batch for one in records.iter_newest_first()] == [100, 10, 9]


def test_a_partial_file_is_no_decision(records: DecisionLog, tmp_path: Path) -> None:
    records.record_if_absent(batch(3))
    (tmp_path / f"{batch(4).file_name}.abc{PARTIAL_SUFFIX}").write_text('{"query": ')
    assert [one.batch for one in records.iter_newest_first()] == [3]


def test_old_decisions_are_deleted(records: DecisionLog) -> None:
    for number, seconds in ((1, 300), (2, 200), (3, 100)):
        record_aged(records, batch(number), seconds)
    assert records.delete_older_than(250) == 1
    assert [one.batch for one in records.iter_newest_first()] == [3, 2]
    assert records.delete_older_than(250) == 0
    assert records.delete_older_than(10) == 1
    assert records.find("q", 3, EVENTS) == batch(3)


def test_the_newest_decision_is_never_deleted(records: DecisionLog) -> None:
    assert records.delete_older_than(0) == 0
    record_aged(records, batch(8), 20_000)
    record_aged(records, batch(9), 10_000)
    assert records.delete_older_than(1) == 1
    assert [one.batch for one in records.iter_newest_first()] == [9]
    assert records.delete_older_than(1) == 0


def test_a_partial_file_does_not_count_as_the_newest_decision(records: DecisionLog) -> None:
    record_aged(records, batch(8), 20_000)
    unfinished = records.storage.local_path(f"{batch(9).file_name}.abc{PARTIAL_SUFFIX}")
    assert unfinished is not None
    unfinished.write_text("{")
    assert records.delete_older_than(1000) == 0
    assert [one.batch for one in records.iter_newest_first()] == [8]
    assert unfinished.exists()
    os.utime(unfinished, (0, 0))
    assert records.delete_older_than(1000) == 0
    assert not unfinished.exists()


def test_the_higher_batch_is_kept_as_newest_at_the_same_time(records: DecisionLog) -> None:
    for number in (10, 9, 100, 11, 12):
        path = records.storage.local_path(records.record_if_absent(batch(number)).file_name)
        assert path is not None
        os.utime(path, (5, 5))
    assert records.delete_older_than(1000) == 4
    assert [one.batch for one in records.iter_newest_first()] == [100]
