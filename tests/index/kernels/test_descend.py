"""The descent of query rows from nodes to children, compared with sets in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.index.kernels.bits import WORDS
from covey.index.kernels.tree_nodes import find_bucket
from covey.index.kernels.tree_search import descend, descend_overlapping
from covey.index.segment.bitmap_tree import TreeLevel
from covey.index.segment.query.encoded_query import EncodedQuery
from covey.index.segment.query.pair_buffer import group_by
from tests.index.coded import Coded, Ints, Pairs, corners, pairs, points
from tests.index.kernels.conftest import CollectPairs

NODES, ROWS = 9, 150


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(2)


@pytest.fixture
def level(random: np.random.Generator) -> TreeLevel:
    return Coded.random(random, 900, 3, leaf=100).tree.levels[-1]


@pytest.mark.parametrize("rows", [points, corners])
def test_descend_finds_children_that_may_contain_rows(
    found: CollectPairs, level: TreeLevel, random: np.random.Generator, rows: Any
) -> None:
    """These children are in the buckets of both corners."""
    query, *_ = rows(random, ROWS, 3)
    starts, visitors = visits(random)
    high = None if query.high is query.low else query.high
    answer = pairs(*found(descend, NODES, (query.low, high, visitors, starts, *level)))
    assert answer == searched(level, query, starts, visitors, lambda low, high: {low, high}, np.all)
    assert answer


def test_descend_overlapping_finds_children_that_may_overlap_rows(
    found: CollectPairs, level: TreeLevel, random: np.random.Generator
) -> None:
    """These children are in a bucket between the two corners."""
    query, *_ = corners(random, ROWS, 3)
    starts, visitors = visits(random)
    answer = pairs(
        *found(descend_overlapping, NODES, (query.low, query.high, visitors, starts, *level))
    )
    between = searched(
        level, query, starts, visitors, lambda low, high: {*range(low, high + 1)}, np.any
    )
    assert answer == between
    assert answer


def visits(random: np.random.Generator) -> tuple[Ints, Any]:
    """Draw query rows for every node but one, which no row reaches."""
    lengths = random.integers(1, ROWS, NODES)
    lengths[NODES // 2] = 0
    rows = [np.sort(random.permutation(ROWS)[:length]) for length in lengths]
    return np.concatenate([[0], np.cumsum(lengths)]), np.concatenate(rows).astype(np.int32)


def searched(
    level: TreeLevel,
    query: EncodedQuery,
    starts: Ints,
    rows: Any,
    buckets: Callable[[int, int], set[int]],
    joined: Any,
) -> Pairs:
    """Return the pairs of child and row that pass all tests of a node, by sets in NumPy."""
    sets = np.unpackbits(level.sets.view(np.uint8), bitorder="little").reshape(-1, 64 * WORDS)
    found = set()
    for v in range(NODES):
        first, last = level.children[v : v + 2].tolist()
        for row in rows[starts[v] : starts[v + 1]].tolist():
            passes = np.ones(last - first, np.bool_)
            for t in range(level.tests[v], level.tests[v + 1]):
                k, how = level.attribute[t], (level.base[t], level.scale[t], level.size[t])
                chosen = buckets(
                    find_bucket(query.low[row, k], *how), find_bucket(query.high[row, k], *how)
                )
                set_rows = level.offset[t] // WORDS + np.array(sorted(chosen))
                passes &= joined(sets[set_rows, : last - first], axis=0)
            found |= {(first + child, row) for child in np.flatnonzero(passes).tolist()}
    return found


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 99)), max_size=50))
def test_group_by_groups_values_in_order(ungrouped_pairs: list[tuple[int, int]]) -> None:
    groups, values = np.array(ungrouped_pairs, np.int32).reshape(-1, 2).T.copy()
    starts, by_group = group_by(groups, values, 6)
    order = np.argsort(groups, kind="stable")
    assert by_group.tolist() == values[order].tolist()
    assert starts.tolist() == np.searchsorted(groups[order], np.arange(7)).tolist()
