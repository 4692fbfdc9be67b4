"""Answers with a limit on their size, and answers with values instead of stored rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from covey import Events, Space, parse
from covey.errors import ResultTooLargeError
from covey.index import SegmentIndex
from covey.workload import create_workload

SPACE = Space.from_types({"x": pa.int64(), "v": pa.list_(pa.float32())}, vectors={"v": 2})
ANY_BOX = "x > 0"
ANY_BALL = "vector_l2_distance(v, array(0F, 0F)) < 5"


def events(count: int) -> Events:
    table = pa.table(
        {"x": pa.array([1] * count), "v": pa.array([[0.0, 1.0]] * count, pa.list_(pa.float32()))}
    )
    return Events.from_arrow(table, SPACE)


@pytest.mark.parametrize("text", [ANY_BOX, ANY_BALL])
def test_too_many_pairs_raise_an_error(text: str) -> None:
    index = SegmentIndex.build(parse(SPACE, [text] * 5_000).regions)
    with pytest.raises(ResultTooLargeError, match="more than 1000 pairs"):
        index.match(events(100), max_pairs=1_000)
    assert len(index.match(events(100))) == 500_000
    # one event is always answered in full
    assert len(index.match(events(1), max_pairs=1_000)) == 5_000


def test_too_many_pairs_are_noticed_before_all_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The buffers for pairs never grow far beyond the limit."""
    from covey.index.segment.query import pair_buffer

    sizes = []
    pair = pair_buffer._allocate_pair

    def counted(size: int) -> tuple[np.ndarray, np.ndarray]:
        sizes.append(size)
        return pair(size)

    monkeypatch.setattr(pair_buffer, "_allocate_pair", counted)
    index = SegmentIndex.build(parse(SPACE, [ANY_BOX] * 20_000).regions)
    with pytest.raises(ResultTooLargeError):
        index.match(events(1_000), max_pairs=50_000)  # the full answer has 20 million pairs
    assert max(sizes, default=0) <= 1 << 20


@pytest.mark.parametrize("name", ["alerts", "skewed"])
def test_values_are_returned_instead_of_stored_rows(name: str) -> None:
    workload = create_workload(name)
    index = SegmentIndex.build(workload.generate_regions(0, 3_000))
    query_events = Events.from_arrow(workload.generate_events(0, 200), workload.space)
    names = np.random.default_rng(0).permutation(3_000) * 10
    plain, named = (
        index.match(query_events),
        index.match_values(query_events, index.arrange_by_ordinal(names)),
    )
    assert len(plain)
    np.testing.assert_array_equal(plain.query_rows, named.query_rows)
    np.testing.assert_array_equal(names[plain.stored_rows], named.stored_rows)
