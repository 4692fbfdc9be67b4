"""Tables under random adds and cancels: what is advertised contains what lives, at every step."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from covey import Events, Space, parse
from covey.errors import ValueRefused
from covey.geometry import Regions
from covey.index import Scan
from covey.table import Steps, Table

SPACE = Space.of({"x": pa.int32(), "y": pa.int32()})
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


def add(table: Table, **texts: str) -> Steps:
    parsed = parse(SPACE, list(texts.values()))
    return table.add(list(texts), parsed.regions, parsed.of)


def points(regions: Regions) -> list[set[int]]:
    """The points in each region."""
    found: list[set[int]] = [set() for _ in range(len(regions))]
    for point, region in Scan(regions).matching(POINTS):
        found[region].add(point)
    return found


@cache
def meant(text: str) -> set[int]:
    """The points that a predicate matches."""
    return set().union(*points(parse(SPACE, [text]).regions))


def box(x: tuple[int, int], y: tuple[int, int]) -> str:
    return f"x BETWEEN {min(x)} AND {max(x)} AND y BETWEEN {min(y)} AND {max(y)}"


SIDES = st.tuples(st.integers(0, SIDE - 1), st.integers(0, SIDE - 1))
TEXTS = st.one_of(
    st.builds(box, SIDES, SIDES),
    st.builds(
        lambda a, b: f"{a} OR {b}", st.builds(box, SIDES, SIDES), st.builds(box, SIDES, SIDES)
    ),
    st.sampled_from(["true", "false", "x IS NULL", "x >= 3"]),
)


class Link(RuleBasedStateMachine):
    """A table, and the neighbour that does what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.table = Table(SPACE)
        self.texts: dict[int, str] = {}
        self.known: dict[int, set[int]] = {}

    @rule(batch=st.dictionaries(st.integers(0, 15), TEXTS, min_size=1, max_size=6))
    def add(self, batch: dict[int, str]) -> None:
        parsed = parse(SPACE, list(batch.values()))
        self.texts |= batch
        self.follow(self.table.add(list(batch), parsed.regions, parsed.of))

    @rule(ids=st.sets(st.integers(0, 15), min_size=1, max_size=4))
    def cancel(self, ids: set[int]) -> None:
        self.texts = {k: t for k, t in self.texts.items() if k not in ids}
        self.follow(self.table.cancel(ids))

    @precondition(lambda self: not self.table.is_settled)
    @rule(most=st.integers(0, 3))
    def settle(self, most: int) -> None:
        self.follow(self.table.settle(most))

    def follow(self, steps: Steps) -> None:
        """Does one thing after another; when all is advertised, nothing that lives is missed."""
        for number, some in zip(steps.advertised.tolist(), points(steps.regions), strict=True):
            assert number not in self.known
            self.known[number] = some
        living = set().union(*map(meant, self.texts.values()))
        for number in steps.withdrawn.tolist():
            assert living <= set().union(*self.known.values())
            del self.known[number]
        assert living <= set().union(*self.known.values())

    @invariant()
    def the_neighbour_knows_what_is_advertised(self) -> None:
        assert sorted(self.known) == self.table.advertised.tolist()

    @rule()
    def tidy(self) -> None:
        self.follow(self.table.tidy())
        regions = self.table.regions(self.table.advertised)
        assert len(Scan(regions).covering(regions)) == len(regions)

    @invariant()
    def who_absorbs_contains(self) -> None:
        for id_, text in self.texts.items():
            over = self.table.absorbed_by(id_)
            if over and self.table.is_settled:
                assert meant(text) <= set().union(*(meant(self.texts[one]) for one in over))


def test_a_link_knows_all_that_lives() -> None:
    run_state_machine_as_test(Link, settings=settings(stateful_step_count=50))


def test_what_is_covered_is_not_advertised() -> None:
    table = Table(SPACE)
    first = add(table, wide="x > 1", narrow="x > 3", other="y = 1")
    assert len(first.advertised) == 2
    assert table.absorbed_by("narrow") == ("wide",)
    assert table.absorbed_by("other") == ()
    wider = Steps.concat([add(table, wider="x > 0"), table.tidy()])
    assert (len(wider.advertised), len(wider.withdrawn)) == (1, 1)
    assert table.absorbed_by("narrow") == table.absorbed_by("wide") == ("wider",)
    back = table.cancel(["wider"])
    assert (len(back.advertised), len(back.withdrawn)) == (1, 1)
    assert table.absorbed_by("narrow") == ("wide",)


def test_of_equal_ones_the_first_is_advertised() -> None:
    table = Table(SPACE)
    add(table, a="x = 1", b="x = 1", c="x = 1")
    assert [table.absorbed_by(id_) for id_ in "abc"] == [(), ("a",), ("a",)]
    table.cancel(["a"])
    assert [table.absorbed_by(id_) for id_ in "bc"] == [(), ("b",)]


def test_a_popular_one_stays_until_the_others_have_a_place() -> None:
    table = Table(SPACE)
    texts = [f"x = {n} AND y > {m}" for n in range(100) for m in range(100)]
    parsed = parse(SPACE, ["x >= 0", *texts])
    assert len(table.add(list(range(len(texts) + 1)), parsed.regions, parsed.of).advertised) == 1
    first = table.cancel([0])
    assert not table.is_settled
    assert not len(first.withdrawn)
    while not table.is_settled:
        last = table.settle(3_000)
    assert last.withdrawn.tolist() == [0]
    table.tidy()
    assert len(table.advertised) == 100


def test_one_of_many_that_were_never_advertised_is_cancelled() -> None:
    table = Table(SPACE)
    add(table, wide="true")
    parsed = parse(SPACE, [f"x = {n}" for n in range(3_000)])
    assert not len(table.add(list(range(3_000)), parsed.regions, parsed.of).advertised)
    steps = table.cancel([2_999])
    assert not len(steps.advertised) + len(steps.withdrawn)
    assert len(table) == 3_000


def test_an_id_twice_is_refused() -> None:
    parsed = parse(SPACE, ["x = 1", "x = 2"])
    with pytest.raises(ValueRefused, match="twice"):
        Table(SPACE).add([1, 1], parsed.regions, parsed.of)
