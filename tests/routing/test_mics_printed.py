"""What the mics paper prints loses events or forwards for nothing; `Cells` does neither.

Each printed rule is kept here as a small function on ranges, with an example against it.
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
    """Algorithm 1, line by line, for one range: changes the tree, gives what is forwarded."""
    forwarded: list[Range] = []
    before = [r for r in tree if r[0] <= new[0]]
    least = before[-1] if before else None  # the leaf that a look-up of the range's start visits
    if least and least[0] <= new[0] and new[1] <= least[1]:
        return forwarded  # step 1
    at = tree.index(least) + 1 if least else 0
    covered = [least] if least and new[0] <= least[0] and least[1] <= new[1] else []
    while at < len(tree) and new[0] <= tree[at][0] and tree[at][1] <= new[1]:
        covered.append(tree[at])
        at += 1
    most = tree[at] if at < len(tree) else None
    for one in covered:
        tree.remove(one)  # step 2
    merged = new
    if least and new[0] <= least[1] + 1:
        merged = (min(new[0], least[0]), max(new[1], least[1]))
    if most and new[1] >= most[0] - 1:  # step 3: all that follows stands under this `if`
        merged = (min(merged[0], most[0]), max(merged[1], most[1]))
        tree.remove(most)
        if least in tree:
            tree[tree.index(least)] = (least[0], most[1])
        forwarded.append(merged)
    return forwarded


def test_printed_insertion_neither_stores_nor_forwards_a_range_by_itself() -> None:
    tree: list[Range] = []
    assert printed_insertion(tree, (5, 9)) == []
    assert tree == []
    cells = HilbertCellStrategy(GRID)
    assert list(cells.add(np.array([0]), region(5, 9)).advertised) == [(5, 9)]
    assert cells.admits(event(7)).all()


def test_printed_insertion_forgets_what_it_merges_to_the_left() -> None:
    tree = [(0, 10)]
    assert printed_insertion(tree, (8, 20)) == []
    assert tree == [(0, 10)]  # 11 to 20 are lost
    cells = HilbertCellStrategy(GRID)
    cells.add(np.array([0]), region(0, 10))
    assert list(cells.add(np.array([1]), region(8, 20)).advertised) == [(11, 20)]
    assert cells.admits(event(15)).all()


def printed_insertion_in_words(tree: list[Range], new: Range, gap: int = 0) -> list[Range]:
    """As the text around the algorithm has it: the tree gets the merged range, the link the new."""
    if any(first <= new[0] and new[1] <= last for first, last in tree):
        return []
    near = [r for r in tree if r[0] <= new[1] + gap + 1 and new[0] <= r[1] + gap + 1]
    for one in near:
        tree.remove(one)
    tree.append((min(r[0] for r in [*near, new]), max(r[1] for r in [*near, new])))
    return [new]


def test_after_an_imperfect_merge_a_range_is_covered_by_what_nobody_was_told() -> None:
    tree: list[Range] = []
    told = [r for new in [(0, 10), (12, 20)] for r in printed_insertion_in_words(tree, new, gap=1)]
    assert tree == [(0, 20)]
    assert printed_insertion_in_words(tree, (11, 11), gap=1) == []
    assert not RangeSet.from_ranges([a for a, _ in told], [b for _, b in told]).contains([11]).any()
    cells, known = HilbertCellStrategy(GRID, gap=1), RangeSet.empty()
    for number, ends in enumerate([(0, 10), (12, 20), (11, 11)]):
        known |= cells.add(np.array([number]), region(*ends)).advertised
    assert known.contains([11]).all()


def printed_removal(tree: list[Range], old: Range) -> RangeSet:
    """Subtract the ranges of what is cancelled from what was merged."""
    merged = RangeSet.from_ranges([a for a, _ in tree], [b for _, b in tree])
    return merged - RangeSet.from_ranges([old[0]], [old[1]])


def test_subtracting_a_cancelled_range_loses_what_another_still_wants() -> None:
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
    assert not cells.admits(event(5)).any()  # nor is [0, 20] kept, which would forward in vain


def test_a_range_under_two_has_no_single_parent() -> None:
    cells = HilbertCellStrategy(GRID)
    for number, ends in enumerate([(0, 12), (10, 20), (5, 15)]):
        steps = cells.add(np.array([number]), region(*ends))
    assert not steps
    assert cells.find_absorbers(np.array([2])).row(0).tolist() == [0, 1]
    cells.remove(np.array([0]))
    assert cells.admits(event(7)).all()  # one of the three still wants it
    assert list(cells.remove(np.array([1])).withdrawn) == [(16, 20)]


def test_predicates_told_while_cells_decide_lose_events() -> None:
    """Both regions are in one cell of eight numbers: the second is held to be covered."""
    grid = HilbertGrid.uniform(SPACE, ["x"], 3, {"x": (0, 63)})
    told, second = region(0, 2), region(5, 6)
    cells = HilbertCellStrategy(grid)
    cells.add(np.array([0]), told)
    assert not cells.add(np.array([1]), second)
    zero = np.zeros(1, np.int64)
    assert contains(second, zero, event(5), zero).all()
    assert not contains(told, zero, event(5), zero).any()  # a link told predicates drops it
    assert cells.admits(event(5)).all()  # one told cells does not
