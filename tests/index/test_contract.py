"""The contract passes an index that is right in another way, and fails those that are wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from covey.geometry import Regions
from covey.index import Index, Pairs, Scan
from covey.space import Events
from covey.testing.contract import IndexContract, cases


@dataclass(frozen=True)
class Halves:
    """Even rows in one scan, odd rows in another; answers are merged."""

    even: Scan
    odd: Scan

    @classmethod
    def of(cls, regions: Regions) -> Halves:
        rows = np.arange(len(regions))
        return cls(Scan(regions.take(rows[::2])), Scan(regions.take(rows[1::2])))

    def matching(self, events: Events) -> Pairs:
        return self._merged(lambda half: half.matching(events))

    def covering(self, regions: Regions, limit: int | None = None) -> Pairs:
        every = self._merged(lambda half: half.covering(regions, limit))
        return every if limit is None else every.first(limit)

    def covered_by(self, regions: Regions) -> Pairs:
        return self._merged(lambda half: half.covered_by(regions))

    def overlapping(self, regions: Regions) -> Pairs:
        return self._merged(lambda half: half.overlapping(regions))

    def _merged(self, ask: Callable[[Scan], Pairs]) -> Pairs:
        even, odd = ask(self.even), ask(self.odd)
        return Pairs.of(
            np.concatenate([even.asked, odd.asked]),
            np.concatenate([2 * even.stored, 2 * odd.stored + 1]),
        )


class TestHalves(IndexContract):
    def build(self, regions: Regions) -> Index:
        return Halves.of(regions)


@dataclass(frozen=True)
class Spoiled:
    """A scan whose answers pass through the hands of a saboteur."""

    scan: Scan
    spoil: Callable[[Pairs], Pairs]

    def matching(self, events: Events) -> Pairs:
        return self.spoil(self.scan.matching(events))

    def covering(self, regions: Regions, limit: int | None = None) -> Pairs:
        return self.spoil(self.scan.covering(regions, limit))

    def covered_by(self, regions: Regions) -> Pairs:
        return self.spoil(self.scan.covered_by(regions))

    def overlapping(self, regions: Regions) -> Pairs:
        return self.spoil(self.scan.overlapping(regions))


def _lost(pairs: Pairs) -> Pairs:
    return Pairs(pairs.asked[:-1], pairs.stored[:-1])


def _invented(pairs: Pairs) -> Pairs:
    return Pairs(np.append(pairs.asked, 0), np.append(pairs.stored, 1 << 40))


def _twice(pairs: Pairs) -> Pairs:
    return Pairs(np.repeat(pairs.asked, 2), np.repeat(pairs.stored, 2))


def _backwards(pairs: Pairs) -> Pairs:
    return Pairs(pairs.asked[::-1], pairs.stored[::-1])


def _as_floats(pairs: Pairs) -> Pairs:
    return Pairs(pairs.asked.astype(float), pairs.stored)


QUESTIONS = ["matching", "covering", "limited_covering", "covered_by", "overlapping"]


@pytest.mark.parametrize("spoil", [_lost, _invented, _twice, _backwards, _as_floats])
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_wrong_index_fails(question: str, spoil: Callable[[Pairs], Pairs]) -> None:
    assert _fails(question, spoil)


@pytest.mark.parametrize("question", ["empty_batches", "no_regions_stored"])
def test_an_index_that_answers_out_of_nothing_fails(question: str) -> None:
    assert _fails(question, _invented)


def _fails(question: str, spoil: Callable[[Pairs], Pairs]) -> bool:
    """Whether the contract's test fails: the first failure is enough, it need not be shrunk."""

    class Wrong(IndexContract):
        def build(self, regions: Regions) -> Index:
            return Spoiled(Scan(regions), spoil)

    check = getattr(Wrong, f"test_{question}").hypothesis.inner_test
    drawn = [cases(), st.just(3)] if question == "limited_covering" else [cases()]

    @settings(phases=[Phase.generate], report_multiple_bugs=False, max_examples=200)
    @given(st.tuples(*drawn))
    def run(case: tuple[Any, ...]) -> None:
        check(Wrong(), *case)

    try:
        run()
    except AssertionError:
        return True
    return False


def test_a_contract_without_an_index_says_what_to_do() -> None:
    with pytest.raises(NotImplementedError, match="builds the index under test"):
        IndexContract().build(None)  # type: ignore[arg-type]
