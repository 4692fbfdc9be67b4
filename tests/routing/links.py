"""A link under random adds, cancels and crashes: a state machine for any routing strategy.

`COVEY_RUNS` is the number of runs of each strategy, with 200 adds and cancels each; without it
there are a few short runs.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from covey import Events, Space, parse
from covey.geometry import Regions
from covey.geometry.range_sets import RangeSet
from covey.index import BruteForceIndex
from covey.index.hilbert.grid import HilbertGrid
from covey.routing import CellUpdate, RegionUpdate, RoutingTable
from covey.routing.strategies import RegionStrategyChoice
from covey.store import Changes, Snapshot, Store

Texts = tuple[str, ...]
"""A predicate, as the texts whose disjunction it is."""

SPACE = Space.from_types({"x": pa.int32(), "y": pa.int32()})
SIDE = 6
POINTS = Events.from_arrow(
    pa.table(
        {
            "x": pa.array([*np.repeat(range(SIDE), SIDE).tolist(), None], pa.int32()),
            "y": pa.array([*np.tile(range(SIDE), SIDE).tolist(), None], pa.int32()),
        }
    ),
    SPACE,
)
RUNS = int(os.environ.get("COVEY_RUNS", "0"))
SETTINGS = settings(
    max_examples=RUNS or 8,
    stateful_step_count=200 if RUNS else 40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],  # shrinking 40 steps takes minutes
)


def points(regions: Regions) -> list[set[int]]:
    """Return the set of points in each region."""
    found: list[set[int]] = [set() for _ in range(len(regions))]
    for point, region in BruteForceIndex(regions).match(POINTS):
        found[region].add(point)
    return found


@cache
def parse_text(text: str) -> Regions:
    """Return the regions of a text; cached, because parsing would take most of the time."""
    return parse(SPACE, [text]).regions


@cache
def match_points(texts: Texts) -> frozenset[int]:
    """Return the points that a predicate matches."""
    return frozenset().union(
        *(point_set for text in texts for point_set in points(parse_text(text)))
    )


def regions_of(batch: Iterable[Texts]) -> tuple[Regions, np.ndarray[Any, np.dtype[np.int64]]]:
    """Return the regions of predicates, and the predicate number of each region."""
    parts = [(i, parse_text(text)) for i, texts in enumerate(batch) for text in texts]
    predicate_rows = np.array([i for i, part in parts for _ in range(len(part))], np.int64)
    return Regions.concat([Regions(SPACE, 0, {}), *(part for _, part in parts)]), predicate_rows


def match_any(batch: Iterable[Texts]) -> set[int]:
    """Return the points that any of the predicates matches."""
    return set().union(*map(match_points, batch))


def box(x: tuple[int, int], y: tuple[int, int]) -> str:
    return f"x BETWEEN {min(x)} AND {max(x)} AND y BETWEEN {min(y)} AND {max(y)}"


SIDES = st.tuples(st.integers(0, SIDE - 1), st.integers(0, SIDE - 1))
BOXES = st.builds(box, SIDES, SIDES)
TEXTS = st.one_of(
    st.tuples(BOXES),
    st.tuples(BOXES, BOXES),
    st.sampled_from([("true",), ("false",), ("x IS NULL",), ("x >= 3",), ("x IN (0, 2, 5)",)]),
)
IDS = st.integers(0, 15)
PUT = st.dictionaries(IDS, TEXTS, min_size=1, max_size=6)
THEN = st.sampled_from(["nothing", "nothing", "reassign", "prune"])
CANCELLED = st.sets(IDS, min_size=1, max_size=4)


class Regional:
    """A neighbour to which regions are advertised: the points in each, by number."""

    def __init__(self) -> None:
        self.regions: dict[int, set[int]] = {}

    @property
    def known(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.array(sorted(self.regions), np.int64)

    @property
    def points(self) -> set[int]:
        return set().union(*self.regions.values())

    def advertise(self, steps: RegionUpdate) -> None:
        for number, point_set in zip(steps.advertised.tolist(), points(steps.regions), strict=True):
            assert number not in self.regions
            self.regions[number] = point_set

    def withdraw(self, steps: RegionUpdate) -> Iterable[None]:
        for number in steps.withdrawn.tolist():
            del self.regions[number]
            yield

    def knows(self, advertised: Any) -> bool:
        return sorted(self.regions) == advertised.tolist()


GRID = HilbertGrid.uniform(SPACE, ["x", "y"], 3, {"x": (0, 7), "y": (0, 7)})


class Cellular:
    """A neighbour to which cells are advertised."""

    def __init__(self) -> None:
        self.known = RangeSet.empty()

    @property
    def points(self) -> set[int]:
        return set(np.flatnonzero(self.known.contains(GRID.find_positions(POINTS))).tolist())

    def advertise(self, steps: CellUpdate) -> None:
        self.known = self.known | steps.advertised

    def withdraw(self, steps: CellUpdate) -> Iterable[None]:
        for first, last in steps.withdrawn:
            self.known = self.known - RangeSet.from_ranges([first], [last])
            yield

    def knows(self, advertised: Any) -> bool:
        return bool(self.known == advertised)


def cells(texts: Iterable[Texts], most: int) -> RangeSet:
    """Return the cells of predicates, with at most `max_ranges` ranges per region."""
    rows = GRID.find_ranges(regions_of(texts)[0], max_ranges=most)
    return RangeSet.from_ranges(rows.first, rows.last)


class Link(RuleBasedStateMachine):
    """A routing table and a neighbour that applies its updates."""

    strategy: RegionStrategyChoice = "exact"
    neighbour: Any = Regional

    def __init__(self) -> None:
        super().__init__()
        self.table = RoutingTable(SPACE, self.strategy)
        self.texts: dict[int, Texts] = {}
        self.other = self.neighbour()

    @rule(batch=PUT, then=THEN)
    def add(self, batch: dict[int, Texts], then: str) -> None:
        self.texts |= batch
        self.follow(self.table.add(list(batch), *regions_of(batch.values())))
        self.do_idle_work(then)

    @rule(ids=CANCELLED, then=THEN)
    def cancel(self, ids: set[int], then: str) -> None:
        self.texts = {k: t for k, t in self.texts.items() if k not in ids}
        self.follow(self.table.cancel(ids))
        self.do_idle_work(then)

    @rule(batch=PUT, ids=CANCELLED, is_advertised=st.booleans(), dies=st.integers(0, 7))
    def change(
        self, batch: dict[int, Texts], ids: set[int], is_advertised: bool, dies: int
    ) -> None:
        """Add and cancel; one time in eight, crash between the store and the neighbour."""
        if dies:  # writing a store takes most of the time
            self.add(batch, "nothing")
            self.cancel(ids, "nothing")
            return
        before = dict(self.texts)
        batch = {k: t for k, t in batch.items() if k not in ids}
        self.texts = {k: t for k, t in (self.texts | batch).items() if k not in ids}
        if is_advertised:
            self.other.advertise(self.table.add(list(batch), *regions_of(batch.values())))
        self.table, steps = RoutingTable.from_snapshot(
            store_in_two_changes(before, batch, ids), self.other.known, strategy=self.strategy
        )
        self.follow(steps)

    def do_idle_work(self, then: str) -> None:
        """Do the work that a broker does at idle times, or nothing."""
        if then == "prune":
            self.follow(self.table.prune())
        elif then == "reassign":
            self.follow(self.table.reassign_orphans(1))

    def follow(self, steps: Any) -> None:
        """Apply an update and check that no point of a live predicate is missing at any step."""
        self.other.advertise(steps)
        living = match_any(self.texts.values())
        assert living <= self.other.points
        for _ in self.other.withdraw(steps):
            assert living <= self.other.points

    @invariant()
    def the_neighbour_knows_what_is_advertised(self) -> None:
        assert self.other.knows(self.table.advertised_set)

    @invariant()
    def live_subscriptions_are_admitted(self) -> None:
        admitted = set(np.flatnonzero(self.table.admits(POINTS)).tolist())
        assert match_any(self.texts.values()) <= admitted
        assert admitted == self.other.points

    @invariant()
    def absorbers_contain_redundant_subscriptions(self) -> None:
        if not self.table.is_fully_withdrawn:
            return
        redundant = set(self.table.find_redundant())
        for id_, text in self.texts.items():
            over = self.table.find_absorbers(id_)
            assert not over or id_ in redundant
            assert not set(over) & redundant
            if over:
                self.contain(text, [self.texts[one] for one in over])

    def contain(self, text: Texts, others: list[Texts]) -> None:
        assert match_points(text) <= match_any(others)


class CellLink(Link):
    """A link that advertises cells, which then decide what contains what."""

    neighbour = Cellular

    def contain(self, text: Texts, others: list[Texts]) -> None:
        most = self.table.strategy.max_ranges  # type: ignore[attr-defined]
        assert not len(cells([text], most) - cells(others, most))


def store_in_two_changes(
    before: dict[int, Texts], put: dict[int, Texts], removed: set[int]
) -> Snapshot:
    """Return the newest version of a store after two changes."""
    with tempfile.TemporaryDirectory() as folder, Store.create(f"{folder}/store", SPACE) as store:
        store.apply(Changes(list(before), *regions_of(before.values())))
        store.apply(Changes(list(put), *regions_of(put.values()), sorted(removed)))
        return store.snapshot()
