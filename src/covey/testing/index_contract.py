"""The test class that every index passes: on random cases it answers as `BruteForceIndex` does.

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
from covey.index import BruteForceIndex, Index, Pairs
from covey.space import Events
from covey.space.types import type_to_arrow
from covey.testing.strategies import events, regions, spaces

__all__ = ["IndexCase", "IndexContract", "index_cases"]


@dataclass(frozen=True, slots=True)
class IndexCase:
    """Regions that an index stores, and what it is asked about, in one space."""

    stored_regions: Regions
    query_regions: Regions
    query_events: Events


@st.composite
def index_cases(draw: DrawFn) -> IndexCase:
    """Random cases; asked are other regions, the stored ones again, or events as points."""
    space = draw(spaces())
    stored, these = draw(regions(space, max_regions=8)), draw(events(space))
    other = draw(regions(space))
    again = st.lists(st.integers(0, max(0, len(stored) - 1)), max_size=3 if len(stored) else 0)
    asked = [other, stored.take(np.array(draw(again), np.int64)), Regions.from_events(these)]
    return IndexCase(stored, Regions.concat(asked), these)


# Subclasses share these methods: a saved example may fail for one of them and pass for another,
# which hypothesis warns of. Each runs it again and decides for itself.
_contract_settings = settings(
    deadline=None, suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow]
)


class IndexContract:
    """What every index keeps. Subclass it, build your index, and let pytest find the class.

    How many cases are tried is the hypothesis profile's to say, which must be loaded before this
    module is imported (a `conftest.py` is, and so is `pytest --hypothesis-profile`). An index
    whose parameters decide between ways of working runs it once for each way.

    >>> from covey.index import BruteForceIndex
    >>> class TestMyIndex(IndexContract):
    ...     def build(self, regions: Regions) -> Index:
    ...         return BruteForceIndex(regions)
    >>> TestMyIndex().test_find_covering_with_limit()
    """

    def build(self, regions: Regions) -> Index:
        """The index under test, with these regions stored: row i of them is stored row i."""
        raise NotImplementedError("a subclass of IndexContract builds the index under test")

    @_contract_settings
    @given(index_cases())
    def test_match(self, case: IndexCase) -> None:
        """Each event finds the stored regions that contain it."""
        answer = self.build(case.stored_regions).match(case.query_events)
        _assert_same_pairs(answer, BruteForceIndex(case.stored_regions).match(case.query_events))

    @_contract_settings
    @given(index_cases())
    def test_find_covering(self, case: IndexCase) -> None:
        """Each region finds the stored ones that cover it."""
        answer = self.build(case.stored_regions).find_covering(case.query_regions)
        _assert_same_pairs(
            answer, BruteForceIndex(case.stored_regions).find_covering(case.query_regions)
        )

    @_contract_settings
    @given(index_cases(), st.integers(0, 3))
    def test_find_covering_with_limit(self, case: IndexCase, limit: int) -> None:
        """With a limit, each region finds as many of its covers as it has, up to the limit."""
        answer = self.build(case.stored_regions).find_covering(case.query_regions, limit=limit)
        every = BruteForceIndex(case.stored_regions).find_covering(case.query_regions)
        _assert_sorted_and_unique(answer)
        strange = set(answer) - set(every)
        assert not strange, f"{strange} are no covers"
        rows = len(case.query_regions)
        found = np.bincount(answer.query_rows, minlength=rows)
        there = np.bincount(every.query_rows, minlength=rows)
        assert found.tolist() == np.minimum(there, limit).tolist()

    @_contract_settings
    @given(index_cases())
    def test_find_covered(self, case: IndexCase) -> None:
        """Each region finds the stored ones that it covers."""
        answer = self.build(case.stored_regions).find_covered(case.query_regions)
        _assert_same_pairs(
            answer, BruteForceIndex(case.stored_regions).find_covered(case.query_regions)
        )

    @_contract_settings
    @given(index_cases())
    def test_find_overlapping(self, case: IndexCase) -> None:
        """Each region finds the stored ones that it has an event in common with."""
        answer = self.build(case.stored_regions).find_overlapping(case.query_regions)
        _assert_same_pairs(
            answer, BruteForceIndex(case.stored_regions).find_overlapping(case.query_regions)
        )

    @_contract_settings
    @given(index_cases())
    def test_empty_batches(self, case: IndexCase) -> None:
        """Asked nothing, an index answers nothing."""
        _assert_no_answers(
            self.build(case.stored_regions),
            _select_none(case.query_regions),
            _empty_events(case.query_events),
        )

    @_contract_settings
    @given(index_cases())
    def test_no_regions_stored(self, case: IndexCase) -> None:
        """An index of no regions answers nothing, whatever it is asked."""
        _assert_no_answers(
            self.build(_select_none(case.stored_regions)), case.query_regions, case.query_events
        )


def _select_none(batch: Regions) -> Regions:
    return batch.take(np.empty(0, np.int64))


def _empty_events(batch: Events) -> Events:
    arrow = [(a.name, type_to_arrow(a.type)) for a in batch.space]
    return Events.from_arrow(pa.schema(arrow).empty_table(), batch.space)


def _assert_no_answers(index: Index, query_regions: Regions, query_events: Events) -> None:
    assert len(index.match(query_events)) == 0
    assert len(index.find_covering(query_regions)) == 0
    assert len(index.find_covering(query_regions, limit=1)) == 0
    assert len(index.find_covered(query_regions)) == 0
    assert len(index.find_overlapping(query_regions)) == 0


def _assert_same_pairs(actual: Pairs, expected: Pairs) -> None:
    _assert_sorted_and_unique(actual)
    missing, strange = set(expected) - set(actual), set(actual) - set(expected)
    assert not missing, f"(asked, stored) {sorted(missing)} are missing"
    assert not strange, f"(asked, stored) {sorted(strange)} do not belong"


def _assert_sorted_and_unique(pairs: Pairs) -> None:
    for rows in (pairs.query_rows, pairs.stored_rows):
        assert np.issubdtype(rows.dtype, np.integer), f"row numbers are {rows.dtype}"
    assert (np.diff(pairs.query_rows) >= 0).all(), "pairs are not sorted by what was asked"
    assert len(set(pairs)) == len(pairs), "pairs are not unique"
