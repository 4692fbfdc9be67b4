"""The test class that every index passes: its answers are those of `Scan`, on random cases.

Needs hypothesis and pytest's way of finding tests, which covey itself does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from covey.geometry import Regions
from covey.index import Index, Pairs, Scan
from covey.space import Events
from covey.space.types import to_arrow
from covey.testing.strategies import events, regions, spaces

__all__ = ["IndexContract"]


@dataclass(frozen=True, slots=True)
class Case:
    """Regions that an index stores, and what it is asked about, in one space."""

    stored: Regions
    asked: Regions
    events: Events


@st.composite
def cases(draw: DrawFn) -> Case:
    """Random cases; asked are other regions, the stored ones again, or events as points."""
    space = draw(spaces())
    stored, these = draw(regions(space, max_size=8)), draw(events(space))
    other = draw(regions(space))
    again = st.lists(st.integers(0, max(0, len(stored) - 1)), max_size=3 if len(stored) else 0)
    asked = [other, stored.take(np.array(draw(again), np.int64)), Regions.points(these)]
    return Case(stored, Regions.concat(asked), these)


# Subclasses share these methods: a saved example may fail for one of them and pass for another,
# which hypothesis warns of. Each runs it again and decides for itself.
_shared = settings(
    deadline=None, suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow]
)


class IndexContract:
    """What every index keeps. Subclass it, build your index, and let pytest find the class.

    How many cases are tried is the hypothesis profile's to say, which must be loaded before this
    module is imported (a `conftest.py` is, and so is `pytest --hypothesis-profile`). An index
    whose parameters decide between ways of working runs it once for each way.

    >>> from covey.index import Scan
    >>> class TestMyIndex(IndexContract):
    ...     def build(self, regions: Regions) -> Index:
    ...         return Scan(regions)
    >>> TestMyIndex().test_limited_covering()
    """

    def build(self, regions: Regions) -> Index:
        """The index under test, with these regions stored: row i of them is stored row i."""
        raise NotImplementedError("a subclass of IndexContract builds the index under test")

    @_shared
    @given(cases())
    def test_matching(self, case: Case) -> None:
        """Each event finds the stored regions that contain it."""
        answer = self.build(case.stored).matching(case.events)
        _assert_same(answer, Scan(case.stored).matching(case.events))

    @_shared
    @given(cases())
    def test_covering(self, case: Case) -> None:
        """Each region finds the stored ones that cover it."""
        answer = self.build(case.stored).covering(case.asked)
        _assert_same(answer, Scan(case.stored).covering(case.asked))

    @_shared
    @given(cases(), st.integers(0, 3))
    def test_limited_covering(self, case: Case, limit: int) -> None:
        """With a limit, each region finds as many of its covers as it has, up to the limit."""
        answer = self.build(case.stored).covering(case.asked, limit)
        every = Scan(case.stored).covering(case.asked)
        _assert_in_order(answer)
        strange = set(answer) - set(every)
        assert not strange, f"{strange} are no covers"
        rows = len(case.asked)
        found = np.bincount(answer.asked, minlength=rows)
        there = np.bincount(every.asked, minlength=rows)
        assert found.tolist() == np.minimum(there, limit).tolist()

    @_shared
    @given(cases())
    def test_covered_by(self, case: Case) -> None:
        """Each region finds the stored ones that it covers."""
        answer = self.build(case.stored).covered_by(case.asked)
        _assert_same(answer, Scan(case.stored).covered_by(case.asked))

    @_shared
    @given(cases())
    def test_overlapping(self, case: Case) -> None:
        """Each region finds the stored ones that it has an event in common with."""
        answer = self.build(case.stored).overlapping(case.asked)
        _assert_same(answer, Scan(case.stored).overlapping(case.asked))

    @_shared
    @given(cases())
    def test_empty_batches(self, case: Case) -> None:
        """Asked nothing, an index answers nothing."""
        _assert_silent(self.build(case.stored), _none(case.asked), _no_events(case.events))

    @_shared
    @given(cases())
    def test_no_regions_stored(self, case: Case) -> None:
        """An index of no regions answers nothing, whatever it is asked."""
        _assert_silent(self.build(_none(case.stored)), case.asked, case.events)


def _none(some: Regions) -> Regions:
    return some.take(np.empty(0, np.int64))


def _no_events(some: Events) -> Events:
    arrow = [(a.name, to_arrow(a.type)) for a in some.space]
    return Events.from_arrow(pa.schema(arrow).empty_table(), some.space)


def _assert_silent(index: Index, asked: Regions, these: Events) -> None:
    assert len(index.matching(these)) == 0
    assert len(index.covering(asked)) == 0
    assert len(index.covering(asked, 1)) == 0
    assert len(index.covered_by(asked)) == 0
    assert len(index.overlapping(asked)) == 0


def _assert_same(answer: Pairs, right: Pairs) -> None:
    _assert_in_order(answer)
    missing, strange = set(right) - set(answer), set(answer) - set(right)
    assert not missing, f"(asked, stored) {sorted(missing)} are missing"
    assert not strange, f"(asked, stored) {sorted(strange)} do not belong"


def _assert_in_order(answer: Pairs) -> None:
    for rows in (answer.asked, answer.stored):
        assert np.issubdtype(rows.dtype, np.integer), f"row numbers are {rows.dtype}"
    assert (np.diff(answer.asked) >= 0).all(), "pairs are not sorted by what was asked"
    assert len(set(answer)) == len(answer), "pairs are not unique"
