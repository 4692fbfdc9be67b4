"""Routing tables of cells under random adds and cancels, compared with Python sets of cells."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from covey import Events, Space, parse
from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.geometry.hilbert import encode_cells
from covey.geometry.range_sets import RangeSet
from covey.index import BruteForceIndex
from covey.index.hilbert.grid import HilbertGrid
from covey.routing.cell_strategy import HilbertCellStrategy, InsertionCounts
from covey.routing.updates import CellUpdate

SPACE = Space.from_types({"x": pa.int32(), "y": pa.int32()})
BITS, SIDE = 3, 8
GRID = HilbertGrid.uniform(SPACE, ["x", "y"], BITS, {"x": (0, SIDE - 1), "y": (0, SIDE - 1)})
POINTS = Events.from_arrow(
    pa.table(
        {
            "x": pa.array([*np.repeat(range(SIDE), SIDE).tolist(), None], pa.int32()),
            "y": pa.array([*np.tile(range(SIDE), SIDE).tolist(), None], pa.int32()),
        }
    ),
    SPACE,
)


def box(x: tuple[int, int], y: tuple[int, int]) -> str:
    return f"x BETWEEN {min(x)} AND {max(x)} AND y BETWEEN {min(y)} AND {max(y)}"


SIDES = st.tuples(st.integers(0, SIDE - 1), st.integers(0, SIDE - 1))
TEXTS = st.builds(box, SIDES, SIDES) | st.sampled_from(["true", "x IS NULL", "x >= 3"])


def regions(texts: list[str]) -> Regions:
    return parse(SPACE, texts).regions if texts else Regions(SPACE, 0, {})


@cache
def cells(text: str) -> frozenset[int]:
    """Return the positions of the cells of a text, one by one."""
    lower, upper = GRID.find_boxes(regions([text]))
    sides = [range(a, b + 1) for a, b in zip(lower[0].tolist(), upper[0].tolist(), strict=True)]
    return frozenset(encode_cells(list(product(*sides)), BITS).tolist())


@cache
def points(text: str) -> frozenset[int]:
    """Return the points that a text matches."""
    return frozenset(BruteForceIndex(regions([text])).match(POINTS).query_rows.tolist())


def fill_gaps(inside: set[int], gap: int) -> set[int]:
    neighbours = pairwise(sorted(inside))
    return inside | {i for a, b in neighbours if b - a <= gap + 1 for i in range(a, b)}


def integers(ranges: RangeSet) -> set[int]:
    return {i for first, last in ranges for i in range(first, last + 1)}


class Link(RuleBasedStateMachine):
    """A table of cells and a neighbour that applies its updates."""

    gap = 0

    def __init__(self) -> None:
        super().__init__()
        self.cells = HilbertCellStrategy(GRID, self.gap)
        self.texts: dict[int, str] = {}
        self.known: set[int] = set()
        self.next = 0

    @rule(batch=st.lists(TEXTS, max_size=5))
    def add(self, batch: list[str]) -> None:
        numbers = np.arange(self.next, self.next + len(batch))
        self.next += len(batch)
        self.texts |= dict(zip(numbers.tolist(), batch, strict=True))
        covered = self.cells.covers(regions(batch)).tolist()
        assert covered == [cells(text) <= self.known for text in batch]
        self.follow(self.cells.add(numbers, regions(batch)))

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        numbers = data.draw(
            st.lists(st.sampled_from(sorted(self.texts)), unique=True, max_size=4)
            if self.texts
            else st.just([])
        )
        for number in numbers:
            del self.texts[number]
        self.follow(self.cells.remove(np.array(numbers, np.int64)))

    @rule()
    def no_withdrawal_is_pending(self) -> None:
        assert self.cells.is_fully_withdrawn
        assert not self.cells.reassign_orphans(1)
        assert not self.cells.prune()

    @rule(known=st.sets(st.integers(0, SIDE * SIDE - 1)))
    def sync_a_link_with_another_state(self, known: set[int]) -> None:
        self.known = known
        self.follow(self.cells.build_sync_update(RangeSet.from_ranges(list(known), list(known))))

    def follow(self, steps: CellUpdate) -> None:
        """Apply an update that advertises only unknown cells and withdraws only known ones."""
        told, gone = integers(steps.advertised), integers(steps.withdrawn)
        assert not told & self.known
        self.known |= told
        assert gone <= self.known
        self.known -= gone

    @invariant()
    def the_neighbour_knows_the_closed_union(self) -> None:
        living = set().union(*map(cells, self.texts.values()))
        assert self.known == fill_gaps(living, self.gap) == integers(self.cells.advertised_set)
        assert self.cells.range_count == len(self.cells.advertised_set)

    @invariant()
    def every_event_of_a_live_region_is_admitted(self) -> None:
        admitted = set(np.flatnonzero(self.cells.admits(POINTS)).tolist())
        assert set().union(*map(points, self.texts.values())) <= admitted
        positions = GRID.find_positions(POINTS).tolist()
        assert admitted == {i for i, p in enumerate(positions) if p in self.known}

    @invariant()
    def absorbers_own_the_cells(self) -> None:
        owner: dict[int, int] = {}
        for number in sorted(self.texts):
            for cell in cells(self.texts[number]):
                owner.setdefault(cell, number)
        numbers = self.cells.numbers
        assert numbers.tolist() == sorted(self.texts)
        found = self.cells.find_absorbers(numbers)
        for i, number in enumerate(numbers.tolist()):
            owners = {owner[cell] for cell in cells(self.texts[number])}
            expected = [number] if number in owners else sorted(owners)
            assert found.row(i).tolist() == expected


class GappyLink(Link):
    gap = 3


@pytest.mark.parametrize("machine", [Link, GappyLink])
def test_a_neighbour_that_applies_updates_knows_the_live_cells(machine: type[Link]) -> None:
    run_state_machine_as_test(machine, settings=settings(deadline=None, stateful_step_count=12))


def test_absorbers_of_few_regions_equal_those_among_all() -> None:
    table = HilbertCellStrategy(GRID)
    table.add(np.arange(4), regions(["x <= 3", "x >= 4", "x BETWEEN 2 AND 5", "x = 0"]))
    assert table.find_absorbers(np.array([3, 2])).row(1).tolist() == [0, 1]
    assert table.find_absorbers(np.array([3, 2])).row(0).tolist() == [0]
    table.remove(np.array([1]))
    assert table.find_absorbers(np.array([2])).row(0).tolist() == [2]


def test_bounded_ranges_still_admit_all_events() -> None:
    table, text = HilbertCellStrategy(GRID, max_ranges=1), box((1, 6), (2, 5))
    table.add(np.array([0]), regions([text]))
    assert table.take_ranges(np.array([0])).lengths.tolist() == [1]
    assert points(text) <= set(np.flatnonzero(table.admits(POINTS)).tolist())
    assert table.remove(np.array([0])).withdrawn.count >= len(cells(text))
    assert len(table.advertised_set) == 0


def test_insertion_counts_covered_partial_and_new_ranges() -> None:
    table = HilbertCellStrategy(GRID)
    table.add(np.array([0]), regions([box((0, 3), (0, 3))]))
    assert table.last_insertion == InsertionCounts(new_count=1)
    table.add(np.array([1]), regions([box((0, 1), (0, 1))]))
    assert table.last_insertion == InsertionCounts(covered_count=1)
    table.add(np.array([2]), regions(["true"]))
    assert table.last_insertion == InsertionCounts(partial_count=1)


def test_memory_of_dead_ranges_is_released() -> None:
    table = HilbertCellStrategy(GRID)
    texts = [box((i % 7, i % 7 + 1), (i % 5, i % 5 + 2)) for i in range(2000)]
    table.add(np.arange(2000), regions(texts))
    before = {n: list(table.take_ranges(np.array([n])).row(0)) for n in range(1900, 2000)}
    table.remove(np.arange(1900))
    assert table._region_ranges._end < 2000
    assert {n: list(table.take_ranges(np.array([n])).row(0)) for n in range(1900, 2000)} == before


def test_wrong_region_numbers_are_refused() -> None:
    table = HilbertCellStrategy(GRID)
    table.add(np.array([3]), regions(["x = 1"]))
    with pytest.raises(InvalidArgumentError, match="region 3 is already in the routing table"):
        table.add(np.array([3]), regions(["x = 1"]))
    with pytest.raises(InvalidArgumentError, match="region 4 is not in the routing table"):
        table.remove(np.array([4]))
    with pytest.raises(InvalidArgumentError, match="twice"):
        table.remove(np.array([3, 3]))
    with pytest.raises(InvalidArgumentError, match="one item for each of 1 regions, got 2 items"):
        table.add(np.array([5, 6]), regions(["x = 1"]))
    assert table.numbers.tolist() == [3]


@given(
    st.lists(st.tuples(st.sets(st.integers(0, 20)), st.sets(st.integers(0, 20))), max_size=5),
    st.sets(st.integers(0, 20)),
)
def test_concatenated_updates_equal_their_sequence(
    parts: list[tuple[set[int], set[int]]], known: set[int]
) -> None:
    """Each update advertises unknown cells and withdraws known ones."""
    now, steps = set(known), []
    for told, gone in parts:
        told, gone = told - now, gone & now
        now = (now | told) - gone
        steps.append(
            CellUpdate(
                RangeSet.from_ranges(list(told), list(told)),
                RangeSet.from_ranges(list(gone), list(gone)),
            )
        )
    total = CellUpdate.concat(steps)
    told, gone = integers(total.advertised), integers(total.withdrawn)
    assert not told & known
    assert gone <= known
    assert (known | told) - gone == now
