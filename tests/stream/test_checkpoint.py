"""The checkpoint of a query with a Kafka source, as Spark 4.2 writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from covey.errors import StreamError
from covey.store.storage.local import LocalBackend
from covey.stream.batches.checkpoint import Checkpoint

CONF = (
    '"conf":{"spark.sql.shuffle.partitions":"8","spark.sql.streaming.join.stateFormatVersion":"2"}'
)
META = f'{{"batchWatermarkMs":0,"batchTimestampMs":1794781371065,{CONF}}}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a checkpoint of two batches, after which a partition and a topic were added."""
    for path, text in {
        "metadata": '{"id":"de148bac-5534-4f41-ae20-0f336499f6ce"}',
        "sources/0/0": '\0v1\n{"ads":{"0":3,"1":0}}',
        "offsets/0": f'v1\n{META}\n{{"ads":{{"0":5,"1":4}}}}',
        "offsets/1": f'v1\n{META}\n{{"ads":{{"1":5,"0":5}}}}',
        "offsets/2": f'v1\n{META}\n{{"offers":{{"0":2}},"ads":{{"2":1,"0":6,"10":7,"1":5}}}}',
        "commits/0": 'v1\n{"nextBatchWatermarkMs":0}',
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(text.encode())
    return tmp_path


def test_the_query_id_is_read(folder: Path) -> None:
    found = Checkpoint(LocalBackend(folder))
    assert found.read_query_id() == "de148bac-5534-4f41-ae20-0f336499f6ce"


def test_the_first_batch_begins_at_the_start_of_the_source(folder: Path) -> None:
    assert Checkpoint(LocalBackend(folder)).read_offset_ranges(0) == {
        "ads": {"0": (3, 5), "1": (0, 4)}
    }


def test_a_batch_begins_at_the_end_of_the_one_before(folder: Path) -> None:
    assert Checkpoint(LocalBackend(folder)).read_offset_ranges(1) == {
        "ads": {"0": (5, 5), "1": (4, 5)}
    }


def test_new_partitions_and_topics_begin_at_offset_0(folder: Path) -> None:
    assert Checkpoint(LocalBackend(folder)).read_offset_ranges(2) == {
        "ads": {"0": (5, 6), "1": (5, 5), "2": (0, 1), "10": (0, 7)},
        "offers": {"0": (0, 2)},
    }


@pytest.mark.parametrize(("missing", "batch"), [("offsets/1", 1), ("offsets/0", 1)])
def test_a_missing_file_is_named(folder: Path, missing: str, batch: int) -> None:
    (folder / missing).unlink()
    said = (
        f"has no {missing}: it is not a checkpoint of a stream, or some of its files were deleted. "
        "If you delete the whole folder, the stream begins"
    )
    with pytest.raises(StreamError, match=said):
        Checkpoint(LocalBackend(folder)).read_offset_ranges(batch)


def test_a_folder_that_is_no_checkpoint_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match="has no metadata"):
        Checkpoint(LocalBackend(tmp_path)).read_query_id()
    with pytest.raises(StreamError, match="has no offsets/0"):
        Checkpoint(LocalBackend(tmp_path)).read_offset_ranges(0)


def test_the_next_batch_is_the_first_without_a_commit(folder: Path, tmp_path: Path) -> None:
    found = Checkpoint(LocalBackend(folder))
    assert found.find_next_batch() == 1
    (folder / "commits" / ".2.crc").touch()
    assert found.find_next_batch() == 1
    assert [found.has_offsets(batch) for batch in (2, 3)] == [True, False]
    assert Checkpoint(LocalBackend(tmp_path / "none")).find_next_batch() == 0
