"""The index contract passes a correct index of another design, and fails wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from covey.geometry import Regions
from covey.index import BruteForceIndex, Index, Pairs
from covey.space import Events
from covey.testing.index_contract import IndexContract, index_cases


@dataclass(frozen=True)
class Halves:
    """Even rows in one scan and odd rows in another, with merged answers."""

    even: BruteForceIndex
    odd: BruteForceIndex

    @classmethod
    def build(cls, regions: Regions) -> Halves:
        rows = np.arange(len(regions))
        return cls(
            BruteForceIndex(regions.take(rows[::2])), BruteForceIndex(regions.take(rows[1::2]))
        )

    def match(self, events: Events) -> Pairs:
        return self._merged(lambda half: half.match(events))

    def find_covering(self, regions: Regions, limit: int | None = None) -> Pairs:
        every = self._merged(lambda half: half.find_covering(regions, limit=limit))
        return every if limit is None else every.limit_per_query(limit)

    def find_covered(self, regions: Regions) -> Pairs:
        return self._merged(lambda half: half.find_covered(regions))

    def find_overlapping(self, regions: Regions) -> Pairs:
        return self._merged(lambda half: half.find_overlapping(regions))

    def _merged(self, ask: Callable[[BruteForceIndex], Pairs]) -> Pairs:
        even, odd = ask(self.even), ask(self.odd)
        return Pairs.from_unsorted(
            np.concatenate([even.query_rows, odd.query_rows]),
            np.concatenate([2 * even.stored_rows, 2 * odd.stored_rows + 1]),
        )


class TestHalves(IndexContract):
    def build(self, regions: Regions) -> Index:
        return Halves.build(regions)


@dataclass(frozen=True)
class Spoiled:
    """A scan whose answers are corrupted by a function."""

    scan: BruteForceIndex
    spoil: Callable[[Pairs], Pairs]

    def match(self, events: Events) -> Pairs:
        return self.spoil(self.scan.match(events))

    def find_covering(self, regions: Regions, limit: int | None = None) -> Pairs:
        return self.spoil(self.scan.find_covering(regions, limit=limit))

    def find_covered(self, regions: Regions) -> Pairs:
        return self.spoil(self.scan.find_covered(regions))

    def find_overlapping(self, regions: Regions) -> Pairs:
        return self.spoil(self.scan.find_overlapping(regions))


def _lost(pairs: Pairs) -> Pairs:
    return Pairs(pairs.query_rows[:-1], pairs.stored_rows[:-1])


def _invented(pairs: Pairs) -> Pairs:
    return Pairs(np.append(pairs.query_rows, 0), np.append(pairs.stored_rows, 1 << 40))


def _twice(pairs: Pairs) -> Pairs:
    return Pairs(np.repeat(pairs.query_rows, 2), np.repeat(pairs.stored_rows, 2))


def _backwards(pairs: Pairs) -> Pairs:
    return Pairs(pairs.query_rows[::-1], pairs.stored_rows[::-1])


def _as_floats(pairs: Pairs) -> Pairs:
    return Pairs(pairs.query_rows.astype(float), pairs.stored_rows)


QUESTIONS = [
    "match",
    "find_covering",
    "find_covering_with_limit",
    "find_covered",
    "find_overlapping",
]


@pytest.mark.parametrize("spoil", [_lost, _invented, _twice, _backwards, _as_floats])
@pytest.mark.parametrize("question", QUESTIONS)
def test_an_index_with_corrupt_answers_fails(
    question: str, spoil: Callable[[Pairs], Pairs]
) -> None:
    assert _fails(question, spoil)


@pytest.mark.parametrize("question", ["empty_batches", "no_regions_stored"])
def test_an_index_with_pairs_for_empty_input_fails(question: str) -> None:
    assert _fails(question, _invented)


def _fails(question: str, spoil: Callable[[Pairs], Pairs]) -> bool:
    """Return True if the test of the contract fails; the first failing case is enough."""

    class Wrong(IndexContract):
        def build(self, regions: Regions) -> Index:
            return Spoiled(BruteForceIndex(regions), spoil)

    check = getattr(Wrong, f"test_{question}").hypothesis.inner_test
    drawn = [index_cases(), st.just(3)] if question.endswith("_with_limit") else [index_cases()]

    @settings(phases=[Phase.generate], report_multiple_bugs=False, max_examples=200)
    @given(st.tuples(*drawn))
    def run(case: tuple[Any, ...]) -> None:
        check(Wrong(), *case)

    try:
        run()
    except AssertionError:
        return True
    return False


def test_a_contract_without_an_index_names_the_missing_method() -> None:
    with pytest.raises(NotImplementedError, match="builds the index under test"):
        IndexContract().build(None)  # type: ignore[arg-type]
