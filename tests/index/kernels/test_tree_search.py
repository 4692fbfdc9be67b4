"""What the kernels find in leaves beside NumPy: every pair once, however little room there is."""

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
from tests.index.kernels.conftest import Found

Rows = Callable[[np.random.Generator, int, int], tuple[EncodedQuery, Ints, Ints]]
WIDTHS = [3, 8, 9]  # attributes: one word of four codes, two, and more


@pytest.mark.parametrize("attributes", WIDTHS)
@pytest.mark.parametrize("rows", [points, corners])
def test_boxes_that_contain_rows(found: Found, rows: Rows, attributes: int) -> None:
    random = np.random.default_rng(attributes)
    some = Coded.random(random, 900, attributes, leaf=100)
    asked, low, high = rows(random, 150, attributes)
    fours = tuple(range(asked.low.shape[1] // 4)) if attributes <= 8 else ()
    starts, down, rest = some.reached(asked)
    answer = pairs(*found(match_leaves, len(starts) - 1, down, more_arguments=(fours, *rest)))
    assert answer == some.containing(low, high)
    assert len(answer) > 100


@pytest.mark.parametrize("limit", [0, 1, 5, 1000])
@pytest.mark.parametrize("rows", [points, corners])
def test_some_boxes_that_contain_rows(found: Found, rows: Rows, limit: int) -> None:
    """Of those that say all, as many as are wanted; the others besides, until then."""
    random = np.random.default_rng(limit)
    some = Coded.random(random, 900, 3, leaf=100)
    asked, low, high = rows(random, 150, 3)
    exact = random.random(900) < 0.5
    starts, down, rest = some.reached(asked)
    more = (*rest, pack_bits(exact), np.full(150, limit, np.int32))
    answer = pairs(*found(match_leaves_limited, len(starts) - 1, down, more_arguments=more))
    every = some.containing(low, high)
    assert answer <= every
    for row in range(150):
        mine, there = ([box for box, of in each if of == row] for each in (answer, every))
        enough = min(limit, exact[there].sum())
        assert exact[mine].sum() == enough
        assert enough == limit or len(mine) == len(there)


def test_an_owner_of_several_rows_wants_so_many_in_all(found: Found) -> None:
    random = np.random.default_rng(4)
    some = Coded.random(random, 900, 3, leaf=100)
    one, low, high = points(random, 150, 3)
    owner = np.arange(150, dtype=np.int32) // 3
    keys = one.low_keys[::3].copy()
    asked = EncodedQuery(one.low, one.low, keys, keys, owner, {})
    for k in range(3):  # three rows of one owner have its keys
        asked.low[:, k] = asked.low[::3, k].repeat(3)
    starts, down, rest = some.reached(asked)
    more = (*rest, pack_bits(np.ones(900, np.bool_)), np.full(50, 4, np.int32))
    rows = found(match_leaves_limited, len(starts) - 1, down, more_arguments=more)[1]
    there = np.bincount([row for _, row in some.containing(low[::3], high[::3])], minlength=50)
    assert np.bincount(owner[rows], minlength=50).tolist() == np.minimum(4, 3 * there).tolist()


@pytest.mark.parametrize("rows", [points, corners])
def test_boxes_that_contain_given_rows(rows: Rows) -> None:
    random = np.random.default_rng(6)
    some = Coded.random(random, 200, 5, leaf=100)
    asked, low, high = rows(random, 50, 5)
    row, box = (side.ravel().astype(np.int32) for side in np.indices((50, 200)))
    held = verify_boxes(row, box, *some.reached(asked)[1][:2], *some.reached(asked)[2])
    assert pairs(box[held], row[held]) == some.containing(low, high)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=50))
def test_pairs_by_owner(found_before: list[tuple[int, int]]) -> None:
    owners, places = np.array(found_before, np.int32).reshape(-1, 2).T.copy()
    rows = np.random.default_rng(1).permutation(10).astype(np.int32)
    asked, stored = np.full(len(owners), -1, np.int32), np.full(len(owners), -1, np.int32)
    write_pairs(owners, places, rows, 6, asked, stored)
    order = np.argsort(owners, kind="stable")
    assert asked.tolist() == owners[order].tolist()
    assert stored.tolist() == rows[places[order]].tolist()
