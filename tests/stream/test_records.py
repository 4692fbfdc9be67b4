"""Records of batches: the first counts, the newest stays, and an event leads to its batch."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from covey.store.directory import PARTIAL
from covey.store.local import LocalDirectory
from covey.stream.records import Offsets, Record, Records

EVENTS: Offsets = {"ads": {"0": (5, 9), "1": (2, 2)}, "offers": {"0": (0, 3)}}


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(LocalDirectory(tmp_path))


def batch(number: int, version: int = 1, events: Offsets = EVENTS, query: str = "q") -> Record:
    return Record(query, number, events, version, 1000 + number)


def aged(records: Records, record: Record, seconds: float) -> Record:
    """Records it, so long ago."""
    kept = records.record(record)
    path = records.directory.local_path(record.name)
    assert path is not None
    os.utime(path, (time.time() - seconds,) * 2)
    return kept


def test_a_batch_is_found_as_it_was_recorded(records: Records) -> None:
    assert records.find("q", 3, EVENTS) is None
    assert records.record(batch(3, 7)) == batch(3, 7)
    assert records.find("q", 3, EVENTS) == batch(3, 7)
    assert list(records.newest_first()) == [batch(3, 7)]


def test_offsets_are_the_same_however_they_are_ordered_or_spelled(records: Records) -> None:
    records.record(batch(3, 7))
    same = {"offers": {"0": [0, 3]}, "ads": {"1": [2, 2], "0": [5, 9]}}
    assert records.find("q", 3, same) == batch(3, 7)  # type: ignore[arg-type]


def test_the_second_adopts_what_the_first_recorded(records: Records) -> None:
    records.record(batch(3, 7))
    assert records.record(Record("q", 3, EVENTS, 8, 5000)) == batch(3, 7)
    assert records.find("q", 3, EVENTS) == batch(3, 7)


def test_of_many_at_once_one_is_recorded_for_all(records: Records) -> None:
    found: list[Record] = []
    threads = [
        threading.Thread(target=lambda v=v: found.append(records.record(batch(3, v))))
        for v in range(8)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [found[0]] * 8
    assert list(records.newest_first()) == [found[0]]


@pytest.mark.parametrize(
    "other",
    [
        batch(3, 8, {"ads": {"0": (5, 10), "1": (2, 2)}, "offers": {"0": (0, 3)}}),
        batch(3, 8, query="another"),
        batch(4, 8),
    ],
)
def test_other_events_batches_and_queries_are_other_records(
    records: Records, other: Record
) -> None:
    records.record(batch(3, 7))
    assert records.record(other) == other
    assert records.find("q", 3, EVENTS) == batch(3, 7)
    assert records.find(other.query, other.batch, other.events) == other


def test_what_is_wrong_with_the_disk_is_raised(records: Records, tmp_path: Path) -> None:
    (tmp_path / "batches").write_text("no folder")
    with pytest.raises(OSError, match="batches"):
        records.record(batch(3))


def test_a_record_knows_its_events() -> None:
    record = batch(3)
    assert record.count == 7
    assert [record.has("ads", 0, offset) for offset in (4, 5, 8, 9)] == [False, True, True, False]
    assert not record.has("ads", 1, 2)
    assert not record.has("ads", 2, 0)
    assert not record.has("other", 0, 5)


def test_an_event_leads_to_the_last_batch_that_had_it(records: Records) -> None:
    aged(records, batch(0, 1, {"ads": {"0": (0, 5)}}), 50)
    aged(records, batch(1, 2, {"ads": {"0": (5, 9)}}), 40)
    aged(records, batch(0, 9, {"ads": {"0": (3, 6)}}, query="anew"), 30)
    found = [records.of_event("ads", 0, offset) for offset in (2, 3, 5, 6, 9)]
    assert [one and one.version for one in found] == [1, 9, 9, 2, None]


def test_records_come_from_the_newest_back(records: Records) -> None:
    for number, seconds in ((5, 30), (6, 10), (7, 20)):
        aged(records, batch(number), seconds)
    assert [one.batch for one in records.newest_first()] == [6, 7, 5]


def test_of_one_moment_the_higher_batch_is_the_newer(records: Records) -> None:
    now = time.time()
    for number in (10, 9, 100):
        path = records.directory.local_path(records.record(batch(number)).name)
        assert path is not None
        os.utime(path, (now, now))
    assert [one.batch for one in records.newest_first()] == [100, 10, 9]


def test_what_was_not_written_to_its_end_is_no_record(records: Records, tmp_path: Path) -> None:
    records.record(batch(3))
    (tmp_path / f"{batch(4).name}.abc{PARTIAL}").write_text('{"query": ')
    assert [one.batch for one in records.newest_first()] == [3]


def test_old_records_are_forgotten(records: Records) -> None:
    for number, seconds in ((1, 300), (2, 200), (3, 100)):
        aged(records, batch(number), seconds)
    assert records.forget(250) == 1
    assert [one.batch for one in records.newest_first()] == [3, 2]
    assert records.forget(250) == 0
    assert records.forget(10) == 1
    assert records.find("q", 3, EVENTS) == batch(3)


def test_the_newest_record_is_never_forgotten(records: Records) -> None:
    assert records.forget(0) == 0
    aged(records, batch(8), 20_000)
    aged(records, batch(9), 10_000)
    assert records.forget(1) == 1
    assert [one.batch for one in records.newest_first()] == [9]
    assert records.forget(1) == 0


def test_what_was_not_written_to_its_end_is_not_the_newest(records: Records) -> None:
    aged(records, batch(8), 20_000)
    unfinished = records.directory.local_path(f"{batch(9).name}.abc{PARTIAL}")
    assert unfinished is not None
    unfinished.write_text("{")
    assert records.forget(1000) == 0
    assert [one.batch for one in records.newest_first()] == [8]
    assert unfinished.exists()
    os.utime(unfinished, (0, 0))
    assert records.forget(1000) == 0
    assert not unfinished.exists()


def test_of_one_moment_the_newest_to_be_kept_is_the_higher_batch(records: Records) -> None:
    for number in (10, 9, 100, 11, 12):
        path = records.directory.local_path(records.record(batch(number)).name)
        assert path is not None
        os.utime(path, (5, 5))
    assert records.forget(1000) == 4
    assert [one.batch for one in records.newest_first()] == [100]
