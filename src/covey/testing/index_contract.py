"""Contract test of indexes: on random cases, the answers must equal those of `BruteForceIndex`.

The module needs hypothesis, and pytest to collect the tests; covey itself needs neither.
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
    """Regions that an index stores, and regions and events to query it with, in one space."""

    stored_regions: Regions
    query_regions: Regions
    query_events: Events


@st.composite
def index_cases(draw: DrawFn) -> IndexCase:
    """Draw a case; query regions are new regions, some stored regions, and events as points."""
    space = draw(spaces())
    stored, query_events = draw(regions(space, max_regions=8)), draw(events(space))
    other = draw(regions(space))
    repeats = st.lists(st.integers(0, max(0, len(stored) - 1)), max_size=3 if len(stored) else 0)
    repeated = stored.take(np.array(draw(repeats), np.int64))
    query_regions = Regions.concat([other, repeated, Regions.from_events(query_events)])
    return IndexCase(stored, query_regions, query_events)


# Subclasses share these test methods. A saved example may fail for one subclass and pass for
# another. Hypothesis warns of that by a health check, which is not needed here, because each
# subclass runs the example itself.
_contract_settings = settings(
    deadline=None, suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow]
)


class IndexContract:
    """Tests that every index must pass: subclass it, define `build`, and let pytest collect it.

    The hypothesis profile sets the number of cases. Load the profile before this module is
    imported: in a `conftest.py`, or with `pytest --hypothesis-profile`. If an index has several
    algorithms, write a subclass for each of them.

    >>> from covey.index import BruteForceIndex
    >>> class TestMyIndex(IndexContract):
    ...     def build(self, regions: Regions) -> Index:
    ...         return BruteForceIndex(regions)
    >>> TestMyIndex().test_find_covering_with_limit()
    """

    def build(self, regions: Regions) -> Index:
        """Return the index under test with these regions stored; region i must be stored row i."""
        raise NotImplementedError(
            "a subclass of IndexContract must define build(), which builds the index under test"
        )

    @_contract_settings
    @given(index_cases())
    def test_match(self, case: IndexCase) -> None:
        """Check that `match` returns for each event exactly the stored regions that contain it."""
        answer = self.build(case.stored_regions).match(case.query_events)
        _assert_same_pairs(answer, BruteForceIndex(case.stored_regions).match(case.query_events))

    @_contract_settings
    @given(index_cases())
    def test_find_covering(self, case: IndexCase) -> None:
        """Check that `find_covering` returns for each region the stored ones that cover it."""
        answer = self.build(case.stored_regions).find_covering(case.query_regions)
        _assert_same_pairs(
            answer, BruteForceIndex(case.stored_regions).find_covering(case.query_regions)
        )

    @_contract_settings
    @given(index_cases(), st.integers(0, 3))
    def test_find_covering_with_limit(self, case: IndexCase, limit: int) -> None:
        """Check that `find_covering` returns all covers of a region, but at most `limit`."""
        answer = self.build(case.stored_regions).find_covering(case.query_regions, limit=limit)
        all_covers = BruteForceIndex(case.stored_regions).find_covering(case.query_regions)
        _assert_sorted_and_unique(answer)
        wrong = set(answer) - set(all_covers)
        assert not wrong, f"pairs (query row, stored row) that are not covers: {sorted(wrong)}"
        query_count = len(case.query_regions)
        actual_counts = np.bincount(answer.query_rows, minlength=query_count)
        cover_counts = np.bincount(all_covers.query_rows, minlength=query_count)
        assert actual_counts.tolist() == np.minimum(cover_counts, limit).tolist()

    @_contract_settings
    @given(index_cases())
    def test_find_covered(self, case: IndexCase) -> None:
        """Check that `find_covered` returns for each region the stored ones that it covers."""
        answer = self.build(case.stored_regions).find_covered(case.query_regions)
        _assert_same_pairs(
            answer, BruteForceIndex(case.stored_regions).find_covered(case.query_regions)
        )

    @_contract_settings
    @given(index_cases())
    def test_find_overlapping(self, case: IndexCase) -> None:
        """Check that `find_overlapping` returns for each region the stored ones that overlap it."""
        answer = self.build(case.stored_regions).find_overlapping(case.query_regions)
        _assert_same_pairs(
            answer, BruteForceIndex(case.stored_regions).find_overlapping(case.query_regions)
        )

    @_contract_settings
    @given(index_cases())
    def test_empty_batches(self, case: IndexCase) -> None:
        """Check that all queries return no pairs for an empty batch."""
        _assert_no_answers(
            self.build(case.stored_regions),
            _select_none(case.query_regions),
            _empty_events(case.query_events),
        )

    @_contract_settings
    @given(index_cases())
    def test_no_regions_stored(self, case: IndexCase) -> None:
        """Check that an index without regions returns no pairs."""
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
    missing, wrong = set(expected) - set(actual), set(actual) - set(expected)
    assert not missing, f"missing pairs (query row, stored row): {sorted(missing)}"
    assert not wrong, f"wrong pairs (query row, stored row): {sorted(wrong)}"


def _assert_sorted_and_unique(pairs: Pairs) -> None:
    for rows in (pairs.query_rows, pairs.stored_rows):
        assert np.issubdtype(rows.dtype, np.integer), f"row numbers are {rows.dtype}, not integers"
    assert (np.diff(pairs.query_rows) >= 0).all(), "pairs are not sorted by query row"
    assert len(set(pairs)) == len(pairs), "pairs are not unique"
