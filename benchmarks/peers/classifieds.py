"""Saved searches by hand: an inverted list of the rarest keyword, then a check of everything.

A list is of one keyword and one category; searches without keywords are in lists of their seller,
if they name one, and category. A list is scanned: first box and price, in blocks that become SIMD,
then the rest on what passes. Events of one category come one after another.

Two ways to look at less than the list, which are indexes made for this workload: `sorted`, lists
sorted by the south of their boxes are scanned until that is north of the ad; `windows`, the tallest
box of a list tells where to begin as well. Sorted by the west is as fast, by the price slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.peers.columns import UNKNOWN
from benchmarks.peers.contract import Found, Look
from benchmarks.peers.kernels import BLOCK, first_at_least, inside, roomy
from benchmarks.peers.searches import Ads, Searches
from covey.geometry import Regions
from covey.space import Events

__all__ = ["ClassifiedsByHand"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SLACK = 1e-9  # so that rounding cuts no window short


@dataclass(frozen=True, slots=True)
class ClassifiedsByHand:
    """Lists of searches: list k has the places from `starts[k]` to `starts[k + 1]`.

    k is key · categories + category; keys are the words, then one for neither, then the sellers.
    """

    searches: Searches
    starts: Ints
    tallest: Floats  # box of each list
    lower: Floats  # of latitude, longitude and price, a row each and a column a place
    upper: Floats
    traits: NDArray[np.uint16]
    seller: NDArray[np.int32]
    keyword_starts: NDArray[np.int32]
    keywords: NDArray[np.int32]
    rows: NDArray[np.int32]
    beyond: float  # how far north of an ad boxes are looked at

    @classmethod
    def build(cls, regions: Regions, look: Look = "all") -> ClassifiedsByHand:
        """Lists of all searches."""
        searches = Searches.of(regions)
        of, lists = _lists(searches)
        lower, upper = searches.lower.T, searches.upper.T
        order = np.lexsort((lower[0], of))
        tallest = np.full(lists, 0.0 if look == "windows" else np.inf)
        np.maximum.at(tallest, of, upper[0] - lower[0] + _SLACK)
        keywords = searches.keywords.take(order)
        return cls(
            searches,
            np.searchsorted(of[order], np.arange(lists + 1)),
            tallest,
            np.ascontiguousarray(lower[:, order]),
            np.ascontiguousarray(upper[:, order]),
            searches.traits[order].astype(np.uint16),
            searches.seller[order].astype(np.int32),
            keywords.offsets.astype(np.int32),
            keywords.values.astype(np.int32),
            order.astype(np.int32),
            np.inf if look == "all" else _SLACK,
        )

    def ready(self, events: Events) -> Ads:
        return self.searches.ads(events)

    def matching(self, ready: Ads) -> Found:
        numbers = self.searches.numbers
        by_category = np.argsort(ready.category, kind="stable")
        found: Found = _matching(
            by_category, *ready, len(numbers["words"]), len(numbers["category"]), self.starts,
            self.tallest, self.lower, self.upper, self.traits, self.seller, self.keyword_starts,
            self.keywords, self.rows, self.beyond,
        )  # fmt: skip
        return found


def _lists(searches: Searches) -> tuple[Ints, int]:
    """The list of each search, and how many lists there are."""
    words, categories, sellers = (
        len(searches.numbers[name]) for name in ("words", "category", "seller")
    )
    has_keywords = searches.keywords.lengths > 0
    key = np.where(searches.seller == UNKNOWN, words, words + 1 + searches.seller)
    key[has_keywords] = searches.keywords.values[searches.keywords.offsets[:-1][has_keywords]]
    return key * categories + searches.category, (words + 1 + sellers) * categories


@njit(cache=True)
def _matching(
    ads: Ints, event: Ints, category: Ints, seller: Ints, traits: Ints, numbers: Floats,
    word_starts: Ints, words: Ints, word_count: int, categories: int, starts: Ints,
    tallest: Floats, lower: Floats, upper: Floats, admitted: NDArray[np.uint16],
    wanted: NDArray[np.int32], keyword_starts: NDArray[np.int32], keywords: NDArray[np.int32],
    rows: NDArray[np.int32], beyond: float,
) -> Any:  # fmt: skip
    found, asked, stored = 0, np.empty(1 << 16, np.int32), np.empty(1 << 16, np.int32)
    marks, has_word = np.empty(BLOCK, np.uint8), np.full(word_count, -1, np.int32)
    souths = lower[0]
    for ad in ads:
        has, point = words[word_starts[ad] : word_starts[ad + 1]], numbers[ad]
        for word in has:
            has_word[word] = ad
        for n in range(len(has) + 2):
            key = has[n] if n < len(has) else word_count
            if n > len(has):
                if seller[ad] < 0:
                    continue
                key = word_count + 1 + seller[ad]
            k = key * categories + category[ad]
            first = first_at_least(souths, starts[k], starts[k + 1], point[0] - tallest[k])
            last = first_at_least(souths, first, starts[k + 1], point[0] + beyond)
            asked, stored = roomy(asked, found + last - first), roomy(stored, found + last - first)
            for start in range(first, last, BLOCK):
                stop = min(start + BLOCK, last)
                if not inside(lower, upper, start, stop, point, marks):
                    continue
                for i in range(start, stop):
                    if (
                        marks[i - start]
                        and admitted[i] & traits[ad] == traits[ad]
                        and (wanted[i] < 0 or wanted[i] == seller[ad])
                        and _has_all(
                            has_word, ad, keywords, keyword_starts[i], keyword_starts[i + 1]
                        )
                    ):
                        asked[found], stored[found] = event[ad], rows[i]
                        found += 1
    return asked[:found], stored[:found]


@njit(cache=True)
def _has_all(
    has_word: NDArray[np.int32], ad: int, keywords: NDArray[np.int32], start: int, stop: int
) -> bool:
    while start < stop and has_word[keywords[start]] == ad:
        start += 1
    return start == stop
