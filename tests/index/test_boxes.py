"""The box tree passes the contract, and its kernels say what NumPy says in three lines."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry import Regions
from covey.index import Index, Scan
from covey.index.boxes import BoxTree
from covey.index.codes import Coded
from covey.index.tree import NODE, BitmapTree
from covey.space import Events
from covey.testing.contract import IndexContract
from covey.workload import by_name


class TestBoxTree(IndexContract):
    def build(self, regions: Regions) -> Index:
        return BoxTree.build(regions)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.sampled_from([5, NODE, 3 * NODE + 7]))
def test_the_tree_finds_what_comparing_all_codes_finds(seed: int, attributes: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, 60, (2, n, attributes)).astype(np.uint16), axis=0)
    ends[0][rng.random((n, attributes)) < 0.2] = 0
    ends[1][rng.random((n, attributes)) < 0.2] = 65535
    tree = BitmapTree.build(Coded(ends[0], ends[1], np.ones(n, np.bool_)))
    low, high = np.sort(rng.integers(0, 60, (2, 9, attributes)).astype(np.uint16), axis=0)
    rows, boxes, _ = tree.containing(low, high)
    inside = ((ends[0] <= low[:, None]) & (high[:, None] <= ends[1])).all(axis=2)
    assert sorted(zip(rows.tolist(), boxes.tolist(), strict=True)) == list(
        zip(*(axis.tolist() for axis in np.nonzero(inside)), strict=True)
    )


def test_workloads_agree_with_the_scan() -> None:
    for name in ("uniform-boxes-4", "alerts", "skewed", "classifieds"):
        workload = by_name(name)
        regions = workload.regions(0, 6_000)
        events = Events.from_arrow(workload.events(0, 60), workload.space)
        found, expected = BoxTree.build(regions).matching(events), Scan(regions).matching(events)
        assert list(found) == list(expected), name
