"""The kernels that search leaves, compared with NumPy: every pair once, with any buffer size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.index.kernels.pair_grouping import write_pairs
from covey.index.kernels.tree_search import match_leaves, match_leaves_limited, verify_boxes
from covey.index.segment.coded_boxes import pack_bits
from covey.index.segment.query.encoded_query import EncodedQuery
from tests.index.coded import Coded, Ints, corners, pairs, points
from tests.index.kernels.conftest import CollectPairs

Rows = Callable[[np.random.Generator, int, int], tuple[EncodedQuery, Ints, Ints]]
WIDTHS = [3, 8, 9]  # numbers of attributes that fit one word of four codes, two words, and more


@pytest.mark.parametrize("attributes", WIDTHS)
@pytest.mark.parametrize("rows", [points, corners])
def test_boxes_that_contain_query_rows_are_found(
    found: CollectPairs, rows: Rows, attributes: int
) -> None:
    random = np.random.default_rng(attributes)
    coded = Coded.random(random, 900, attributes, leaf=100)
    query_batch, low, high = rows(random, 150, attributes)
    fours = tuple(range(query_batch.low.shape[1] // 4)) if attributes <= 8 else ()
    starts, down, rest = coded.reached(query_batch)
    answer = pairs(*found(match_leaves, len(starts) - 1, down, more_arguments=(fours, *rest)))
    assert answer == coded.containing(low, high)
    assert len(answer) > 100


@pytest.mark.parametrize("limit", [0, 1, 5, 1000])
@pytest.mark.parametrize("rows", [points, corners])
def test_limited_search_finds_enough_boxes_that_contain_query_rows(
    found: CollectPairs, rows: Rows, limit: int
) -> None:
    """Exact boxes are returned up to the limit; others are returned until the limit is reached."""
    random = np.random.default_rng(limit)
    coded = Coded.random(random, 900, 3, leaf=100)
    query_batch, low, high = rows(random, 150, 3)
    exact = random.random(900) < 0.5
    starts, down, rest = coded.reached(query_batch)
    more = (*rest, pack_bits(exact), np.full(150, limit, np.int32))
    answer = pairs(*found(match_leaves_limited, len(starts) - 1, down, more_arguments=more))
    every = coded.containing(low, high)
    assert answer <= every
    for row in range(150):
        found_boxes, expected_boxes = (
            [box for box, of in each if of == row] for each in (answer, every)
        )
        enough = min(limit, exact[expected_boxes].sum())
        assert exact[found_boxes].sum() == enough
        assert enough == limit or len(found_boxes) == len(expected_boxes)


def test_a_limit_counts_for_all_rows_of_one_query(found: CollectPairs) -> None:
    random = np.random.default_rng(4)
    coded = Coded.random(random, 900, 3, leaf=100)
    distinct_query, low, high = points(random, 150, 3)
    query_of_row = np.arange(150, dtype=np.int32) // 3
    keys = distinct_query.low_keys[::3].copy()
    query_batch = EncodedQuery(distinct_query.low, distinct_query.low, keys, keys, query_of_row, {})
    for k in range(3):  # three rows of one query have its keys
        query_batch.low[:, k] = query_batch.low[::3, k].repeat(3)
    starts, down, rest = coded.reached(query_batch)
    more = (*rest, pack_bits(np.ones(900, np.bool_)), np.full(50, 4, np.int32))
    rows = found(match_leaves_limited, len(starts) - 1, down, more_arguments=more)[1]
    expected_boxes = np.bincount(
        [row for _, row in coded.containing(low[::3], high[::3])], minlength=50
    )
    assert (
        np.bincount(query_of_row[rows], minlength=50).tolist()
        == np.minimum(4, 3 * expected_boxes).tolist()
    )


@pytest.mark.parametrize("rows", [points, corners])
def test_verify_boxes_finds_the_boxes_that_contain_rows(rows: Rows) -> None:
    random = np.random.default_rng(6)
    coded = Coded.random(random, 200, 5, leaf=100)
    query_batch, low, high = rows(random, 50, 5)
    row, box = (side.ravel().astype(np.int32) for side in np.indices((50, 200)))
    held = verify_boxes(
        row, box, *coded.reached(query_batch)[1][:2], *coded.reached(query_batch)[2]
    )
    assert pairs(box[held], row[held]) == coded.containing(low, high)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=50))
def test_write_pairs_groups_pairs_by_query_row(found_before: list[tuple[int, int]]) -> None:
    owners, places = np.array(found_before, np.int32).reshape(-1, 2).T.copy()
    rows = np.random.default_rng(1).permutation(10).astype(np.int32)
    query_batch, stored = np.full(len(owners), -1, np.int32), np.full(len(owners), -1, np.int32)
    write_pairs(owners, places, rows, 6, query_batch, stored)
    order = np.argsort(owners, kind="stable")
    assert query_batch.tolist() == owners[order].tolist()
    assert stored.tolist() == rows[places[order]].tolist()
