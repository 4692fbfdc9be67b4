"""Bitmap trees visit every leaf that contains a query row, with any number of levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from covey.index.segment import bitmap_tree
from covey.index.segment.bitmap_tree import BitmapTree
from tests.index.coded import Coded, corners, pairs, points

LEAF, COUNT, ROWS = 7, 500, 60


@pytest.fixture(params=[2, 10, 1024])
def coded_boxes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Coded:
    """Return random boxes in a tree of many, several or two levels."""
    monkeypatch.setattr(bitmap_tree, "MAX_CHILDREN", request.param)
    return Coded.random(np.random.default_rng(1), COUNT, 3, LEAF)


def test_levels_lead_from_one_root_to_all_boxes(coded_boxes: Coded) -> None:
    levels = coded_boxes.tree.levels
    counts = [len(level.children) - 1 for level in levels]
    assert counts[0] == 1
    assert [int(level.children[-1]) for level in levels] == [*counts[1:], COUNT]
    assert max(np.diff(level.children).max() for level in levels[:-1]) <= bitmap_tree.MAX_CHILDREN
    assert all(np.diff(level.children).min() > 0 for level in levels)


@pytest.mark.parametrize("rows", [points, corners])
def test_leaves_that_contain_query_rows_are_reached(coded_boxes: Coded, rows: Any) -> None:
    query, low, high = rows(np.random.default_rng(2), ROWS, 3)
    starts, reached = coded_boxes.tree.find_leaves(
        query.low, None if query.high is query.low else query.high
    )
    found = pairs(np.repeat(np.arange(len(starts) - 1), np.diff(starts)), reached)
    assert {(box // LEAF, row) for box, row in coded_boxes.containing(low, high)} <= found
    assert len(found) < len(starts) * ROWS, "the tree prunes no leaf"


def test_boxes_that_overlap_query_rows_are_found(coded_boxes: Coded) -> None:
    query, low, high = corners(np.random.default_rng(3), ROWS, 3)
    starts, query_rows = coded_boxes.tree.find_overlapping_boxes(query.low, query.high)
    found = pairs(np.repeat(np.arange(COUNT), np.diff(starts)), query_rows)
    meet = (coded_boxes.lower[:, None] <= high) & (low <= coded_boxes.upper[:, None])
    assert pairs(*np.nonzero(meet.all(axis=2))) <= found
    assert len(found) < COUNT * ROWS


def test_an_empty_query_reaches_no_leaf(coded_boxes: Coded) -> None:
    query, *_ = points(np.random.default_rng(2), 0, 3)
    starts, reached = coded_boxes.tree.find_leaves(query.low, None)
    assert len(reached) == 0
    assert starts.tolist() == [0] * (-(-COUNT // LEAF) + 1)


def test_a_tree_is_restored_from_its_arrays(coded_boxes: Coded) -> None:
    arrays = {"other": np.zeros(1), **coded_boxes.tree.to_arrays()}
    again = BitmapTree.from_arrays(arrays)
    assert len(again.levels) == len(coded_boxes.tree.levels)
    for mine, theirs in zip(coded_boxes.tree.levels, again.levels, strict=True):
        assert all(a is b for a, b in zip(mine, theirs, strict=True))
