"""Saved searches and ads as plain arrays, with numbers for texts and bits for short lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.columns import UNKNOWN, boxes, column, numbered, numbers_of, points, scalars
from covey.geometry import Regions
from covey.geometry.tags import Tags
from covey.space import Events
from covey.space.events import TagColumn
from covey.space.ragged_array import RaggedArray

__all__ = ["Ads", "Searches"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_PLACE = ("latitude", "longitude")
_BITS = 8  # of a short list; its last bit is for all other texts


class Ads(NamedTuple):
    """Ads, but for those that match nothing: no price, or a category that no search has."""

    event: Ints
    category: Ints
    seller: Ints
    traits: Ints  # one bit for the condition, one for the kind of seller
    numbers: Floats  # latitude, longitude, price
    starts: Ints  # of each ad's words, which are those that searches have, each once
    words: Ints


@dataclass(frozen=True, slots=True)
class Searches:
    """n searches, a row each, and the numbers of the texts in them."""

    category: Ints
    seller: Ints
    traits: Ints  # bits of the conditions, then of the kinds of seller that are admitted
    lower: Floats  # of latitude, longitude and price
    upper: Floats
    keywords: RaggedArray  # the rarest first
    numbers: dict[str, dict[str, int]]

    @classmethod
    def of(cls, regions: Regions) -> Searches:
        """From regions of the workload: all have a category, a box and a price."""
        numbers: dict[str, dict[str, int]] = {name: {} for name in regions.constraints}
        lower, upper = boxes(regions, _PLACE)
        _, price = scalars(regions, "price")
        conditions, kinds = (_bits(regions, name, numbers) for name in ("condition", "seller_kind"))
        return cls(
            _equal(regions, "category", numbers),
            _equal(regions, "seller", numbers),
            conditions | (kinds << _BITS),
            np.column_stack([lower, price.lower.astype(np.float64)]),
            np.column_stack([upper, price.upper.astype(np.float64)]),
            _keywords(regions, numbers["words"]),
            numbers,
        )

    def ads(self, events: Events) -> Ads:
        """Events with the numbers of these searches."""
        category, seller, condition, kind = (
            numbers_of(column(events, name).keys, self.numbers[name])
            for name in ("category", "seller", "condition", "seller_kind")
        )
        price = column(events, "price")
        kept = np.flatnonzero(price.valid & (category != UNKNOWN))
        words = events["words"]
        assert isinstance(words, TagColumn)
        tokens = words.tokens.take(kept)
        known, count = numbers_of(tokens.values, self.numbers["words"]), len(self.numbers["words"])
        ad = np.repeat(np.arange(len(kept)), tokens.lengths)
        each = np.unique((ad * count + known)[known != UNKNOWN])
        return Ads(
            kept,
            category[kept],
            seller[kept],
            (_bit(condition) | (_bit(kind) << _BITS))[kept],
            np.column_stack([points(events, _PLACE), price.keys.astype(np.float64)])[kept],
            np.searchsorted(each, np.arange(len(kept) + 1) * count),
            each % count,
        )


def _equal(regions: Regions, name: str, numbers: dict[str, dict[str, int]]) -> Ints:
    """The number of the one text that each search admits, `UNKNOWN` for any."""
    rows, batch = scalars(regions, name)
    wanted = np.full(len(regions), UNKNOWN)
    wanted[rows] = numbered(batch.lower, numbers[name])
    return wanted


def _bits(regions: Regions, name: str, numbers: dict[str, dict[str, int]]) -> Ints:
    """The texts that each search admits, a bit each."""
    rows, batch = scalars(regions, name)
    single = np.flatnonzero(batch.lists.lengths == 0)
    texts = np.concatenate([batch.lists.values, batch.lower[single]])
    owner = np.concatenate([np.repeat(np.arange(len(batch)), batch.lists.lengths), single])
    found = np.zeros(len(batch), np.int64)
    np.bitwise_or.at(found, owner, _bit(numbered(texts, numbers[name])))
    bits = np.full(len(regions), (1 << _BITS) - 1)
    bits[rows] = found
    return bits


def _bit(number: Ints) -> Ints:
    """One bit for each number below 7; `UNKNOWN` has the last."""
    return np.asarray(1 << (number & (_BITS - 1)), np.int64)


def _keywords(regions: Regions, numbers: dict[str, int]) -> RaggedArray:
    given = regions.constraints["words"]
    assert isinstance(given.batch, Tags)
    words = numbered(given.batch.tokens.values, numbers)
    lengths = np.zeros(len(regions), np.int64)
    lengths[given.rows] = given.batch.groups.lengths
    owner = np.repeat(np.arange(len(regions)), lengths)
    return RaggedArray.from_lengths(lengths, words[np.lexsort((np.bincount(words)[words], owner))])
