"""The rules printed in the mics paper lose events or forward needlessly.

`HilbertCellStrategy` does neither. Each printed rule is a small function on ranges here, with a
counterexample.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from covey import Events, Space, parse
from covey.geometry import Regions
from covey.geometry.range_sets import RangeSet
from covey.geometry.relations import contains
from covey.index.hilbert.grid import HilbertGrid
from covey.routing.cell_strategy import HilbertCellStrategy

Range = tuple[int, int]

SPACE = Space.from_types({"x": pa.int32()})
GRID = HilbertGrid.uniform(SPACE, ["x"], 6, {"x": (0, 63)})


def region(first: int, last: int) -> Regions:
    return parse(SPACE, [f"x BETWEEN {first} AND {last}"]).regions


def event(x: int) -> Events:
    return Events.from_arrow(pa.table({"x": pa.array([x], pa.int32())}), SPACE)


def printed_insertion(tree: list[Range], new: Range) -> list[Range]:
    """Run Algorithm 1 for one range: change the tree and return the forwarded ranges."""
    forwarded: list[Range] = []
    before = [r for r in tree if r[0] <= new[0]]
    # the leaf that a search for the start of the range visits
    left_leaf = before[-1] if before else None
    if left_leaf and left_leaf[0] <= new[0] and new[1] <= left_leaf[1]:
        return forwarded  # step 1
    position = tree.index(left_leaf) + 1 if left_leaf else 0
    covered = [left_leaf] if left_leaf and new[0] <= left_leaf[0] and left_leaf[1] <= new[1] else []
    while position < len(tree) and new[0] <= tree[position][0] and tree[position][1] <= new[1]:
        covered.append(tree[position])
        position += 1
    right_leaf = tree[position] if position < len(tree) else None
    for range_ in covered:
        tree.remove(range_)  # step 2
    merged = new
    if left_leaf and new[0] <= left_leaf[1] + 1:
        merged = (min(new[0], left_leaf[0]), max(new[1], left_leaf[1]))
    if (
        right_leaf and new[1] >= right_leaf[0] - 1
    ):  # step 3: everything that follows stands under this `if`
        merged = (min(merged[0], right_leaf[0]), max(merged[1], right_leaf[1]))
        tree.remove(right_leaf)
        if left_leaf in tree:
            tree[tree.index(left_leaf)] = (left_leaf[0], right_leaf[1])
        forwarded.append(merged)
    return forwarded


def test_printed_insertion_neither_stores_nor_forwards_a_single_range() -> None:
    tree: list[Range] = []
    assert printed_insertion(tree, (5, 9)) == []
    assert tree == []
    cells = HilbertCellStrategy(GRID)
    assert list(cells.add(np.array([0]), region(5, 9)).advertised) == [(5, 9)]
    assert cells.admits(event(7)).all()


def test_printed_insertion_loses_what_it_merges_to_the_left() -> None:
    tree = [(0, 10)]
    assert printed_insertion(tree, (8, 20)) == []
    assert tree == [(0, 10)]  # 11 to 20 are lost
    cells = HilbertCellStrategy(GRID)
    cells.add(np.array([0]), region(0, 10))
    assert list(cells.add(np.array([1]), region(8, 20)).advertised) == [(11, 20)]
    assert cells.admits(event(15)).all()


def printed_insertion_in_words(tree: list[Range], new: Range, gap: int = 0) -> list[Range]:
    """Insert as in the text of the paper: the tree gets the merged range, the link the new one."""
    if any(first <= new[0] and new[1] <= last for first, last in tree):
        return []
    touching = [r for r in tree if r[0] <= new[1] + gap + 1 and new[0] <= r[1] + gap + 1]
    for range_ in touching:
        tree.remove(range_)
    tree.append((min(r[0] for r in [*touching, new]), max(r[1] for r in [*touching, new])))
    return [new]


def test_after_an_imperfect_merge_a_range_is_covered_by_an_unadvertised_one() -> None:
    tree: list[Range] = []
    forwarded = [
        r for new in [(0, 10), (12, 20)] for r in printed_insertion_in_words(tree, new, gap=1)
    ]
    assert tree == [(0, 20)]
    assert printed_insertion_in_words(tree, (11, 11), gap=1) == []
    assert (
        not RangeSet.from_ranges([a for a, _ in forwarded], [b for _, b in forwarded])
        .contains([11])
        .any()
    )
    cells, known = HilbertCellStrategy(GRID, gap=1), RangeSet.empty()
    for number, ends in enumerate([(0, 10), (12, 20), (11, 11)]):
        known |= cells.add(np.array([number]), region(*ends)).advertised
    assert known.contains([11]).all()


def printed_removal(tree: list[Range], old: Range) -> RangeSet:
    """Return the merged ranges minus the ranges of the cancelled subscription."""
    merged = RangeSet.from_ranges([a for a, _ in tree], [b for _, b in tree])
    return merged - RangeSet.from_ranges([old[0]], [old[1]])


def test_subtracting_a_cancelled_range_loses_ranges_of_other_subscriptions() -> None:
    tree: list[Range] = []
    for new in [(0, 12), (10, 20)]:
        printed_insertion_in_words(tree, new)
    left = printed_removal(tree, (0, 12))
    assert not left.contains([10, 11, 12]).any()
    cells = HilbertCellStrategy(GRID)
    cells.add(np.array([0]), region(0, 12))
    cells.add(np.array([1]), region(10, 20))
    assert list(cells.remove(np.array([0])).withdrawn) == [(0, 9)]
    assert cells.admits(event(11)).all()
    # [0, 20] is not kept either, which would be a false forward
    assert not cells.admits(event(5)).any()


def test_a_range_within_the_union_of_two_has_no_single_parent() -> None:
    cells = HilbertCellStrategy(GRID)
    for number, ends in enumerate([(0, 12), (10, 20), (5, 15)]):
        steps = cells.add(np.array([number]), region(*ends))
    assert not steps
    assert cells.find_absorbers(np.array([2])).row(0).tolist() == [0, 1]
    cells.remove(np.array([0]))
    assert cells.admits(event(7)).all()  # one of the three subscriptions still wants it
    assert list(cells.remove(np.array([1])).withdrawn) == [(16, 20)]


def test_advertising_predicates_while_cells_decide_loses_events() -> None:
    """Both regions are in one cell of eight numbers, so the second seems to be covered."""
    grid = HilbertGrid.uniform(SPACE, ["x"], 3, {"x": (0, 63)})
    told, second = region(0, 2), region(5, 6)
    cells = HilbertCellStrategy(grid)
    cells.add(np.array([0]), told)
    assert not cells.add(np.array([1]), second)
    zero = np.zeros(1, np.int64)
    assert contains(second, zero, event(5), zero).all()
    # a link with advertised predicates drops the event
    assert not contains(told, zero, event(5), zero).any()
    assert cells.admits(event(5)).all()  # a link with advertised cells forwards it
