"""A hand-written matcher of the workload `classifieds`: inverted lists of the rarest keywords.

A list has the searches of one keyword and one category. Searches without keywords are in lists of
their category and seller, or of their category if they name no seller. A list is scanned: boxes and
prices are compared first, in blocks, which compile to SIMD; searches that pass are compared on all
other attributes. Events are sorted by category.

Two variants scan a part of a list, as an index for this workload would. With `sorted`, lists are
sorted by the southern end of the boxes, and a scan stops when that end is north of the ad. With
`windows`, a scan also starts at a position that follows from the tallest box of the list. Lists
sorted by the western end are as fast; lists sorted by price are slower.
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

_SLACK = 1e-9  # added to a window, so that rounding does not make it too small


@dataclass(frozen=True, slots=True)
class ClassifiedsByHand:
    """Searches in lists: list k has the positions from `starts[k]` to `starts[k + 1]`.

    k is key · categories + category. Keys are the words, then one key for searches with neither
    word nor seller, then the sellers.
    """

    searches: Searches
    starts: Ints
    tallest: Floats  # height of the tallest box of each list
    lower: Floats  # rows for latitude, longitude and price, one column per position
    upper: Floats
    traits: NDArray[np.uint16]
    seller: NDArray[np.int32]
    keyword_starts: NDArray[np.int32]
    keywords: NDArray[np.int32]
    rows: NDArray[np.int32]
    beyond: float  # largest distance of the southern end of a compared box north of an ad

    @classmethod
    def build(cls, regions: Regions, look: Look = "all") -> ClassifiedsByHand:
        """Build the lists of all searches; `look` selects the variant."""
        searches = Searches.of(regions)
        list_of, list_count = _lists(searches)
        lower, upper = searches.lower.T, searches.upper.T
        order = np.lexsort((lower[0], list_of))
        tallest = np.full(list_count, 0.0 if look == "windows" else np.inf)
        np.maximum.at(tallest, list_of, upper[0] - lower[0] + _SLACK)
        keywords = searches.keywords.take(order)
        return cls(
            searches,
            np.searchsorted(list_of[order], np.arange(list_count + 1)),
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
        """Return events as arrays of ads."""
        return self.searches.ads(events)

    def matching(self, ready: Ads) -> Found:
        """Return all pairs of prepared ads and searches."""
        numbers = self.searches.numbers
        by_category = np.argsort(ready.category, kind="stable")
        pairs: Found = _matching(
            by_category, *ready, len(numbers["words"]), len(numbers["category"]), self.starts,
            self.tallest, self.lower, self.upper, self.traits, self.seller, self.keyword_starts,
            self.keywords, self.rows, self.beyond,
        )  # fmt: skip
        return pairs


def _lists(searches: Searches) -> tuple[Ints, int]:
    """Return the list of each search, and the number of lists."""
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
    count, event_rows, search_rows = 0, np.empty(1 << 16, np.int32), np.empty(1 << 16, np.int32)
    marks, has_word = np.empty(BLOCK, np.uint8), np.full(word_count, -1, np.int32)
    souths = lower[0]
    for ad in ads:
        ad_words, point = words[word_starts[ad] : word_starts[ad + 1]], numbers[ad]
        for word in ad_words:
            has_word[word] = ad
        for n in range(len(ad_words) + 2):
            key = ad_words[n] if n < len(ad_words) else word_count
            if n > len(ad_words):
                if seller[ad] < 0:
                    continue
                key = word_count + 1 + seller[ad]
            k = key * categories + category[ad]
            first = first_at_least(souths, starts[k], starts[k + 1], point[0] - tallest[k])
            last = first_at_least(souths, first, starts[k + 1], point[0] + beyond)
            size = count + last - first
            event_rows, search_rows = roomy(event_rows, size), roomy(search_rows, size)
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
                        event_rows[count], search_rows[count] = event[ad], rows[i]
                        count += 1
    return event_rows[:count], search_rows[:count]


@njit(cache=True)
def _has_all(
    has_word: NDArray[np.int32], ad: int, keywords: NDArray[np.int32], start: int, stop: int
) -> bool:
    while start < stop and has_word[keywords[start]] == ad:
        start += 1
    return start == stop
