"""Saved searches and ads as plain arrays, with integers for texts and bits for short lists."""

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
_BITS = 8  # bits of a short list; the last one stands for all other texts


class Ads(NamedTuple):
    """Ads with a price and with a category of a search; other ads match no search."""

    event: Ints
    category: Ints
    seller: Ints
    traits: Ints  # one bit for the condition, one for the kind of seller
    numbers: Floats  # latitude, longitude, price
    starts: Ints  # start of the words of each ad in `words`
    words: Ints  # distinct words of each ad that occur in a search


@dataclass(frozen=True, slots=True)
class Searches:
    """Saved searches, one per row, and the numbers of their texts by attribute."""

    category: Ints
    seller: Ints
    traits: Ints  # bits of the admitted conditions, then of the admitted kinds of seller
    lower: Floats  # of latitude, longitude and price
    upper: Floats
    keywords: RaggedArray  # of each search, the rarest first
    numbers: dict[str, dict[str, int]]

    @classmethod
    def of(cls, regions: Regions) -> Searches:
        """Return the searches of the workload's regions; all have a category, a box and a price."""
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
        """Return events as ads with the text numbers of these searches."""
        category, seller, condition, kind = (
            numbers_of(column(events, name).keys, self.numbers[name])
            for name in ("category", "seller", "condition", "seller_kind")
        )
        price = column(events, "price")
        rows = np.flatnonzero(price.valid & (category != UNKNOWN))
        words = events["words"]
        assert isinstance(words, TagColumn)
        tokens = words.tokens.take(rows)
        count = len(self.numbers["words"])
        word_numbers = numbers_of(tokens.values, self.numbers["words"])
        ad = np.repeat(np.arange(len(rows)), tokens.lengths)
        ad_words = np.unique((ad * count + word_numbers)[word_numbers != UNKNOWN])
        return Ads(
            rows,
            category[rows],
            seller[rows],
            (_bit(condition) | (_bit(kind) << _BITS))[rows],
            np.column_stack([points(events, _PLACE), price.keys.astype(np.float64)])[rows],
            np.searchsorted(ad_words, np.arange(len(rows) + 1) * count),
            ad_words % count,
        )


def _equal(regions: Regions, name: str, numbers: dict[str, dict[str, int]]) -> Ints:
    """Return the number of the only text that each search admits, or `UNKNOWN` if it admits all."""
    rows, batch = scalars(regions, name)
    text_numbers = np.full(len(regions), UNKNOWN)
    text_numbers[rows] = numbered(batch.lower, numbers[name])
    return text_numbers


def _bits(regions: Regions, name: str, numbers: dict[str, dict[str, int]]) -> Ints:
    """Return the texts that each search admits, as one bit per text."""
    rows, batch = scalars(regions, name)
    single = np.flatnonzero(batch.lists.lengths == 0)
    texts = np.concatenate([batch.lists.values, batch.lower[single]])
    text_rows = np.concatenate([np.repeat(np.arange(len(batch)), batch.lists.lengths), single])
    batch_bits = np.zeros(len(batch), np.int64)
    np.bitwise_or.at(batch_bits, text_rows, _bit(numbered(texts, numbers[name])))
    bits = np.full(len(regions), (1 << _BITS) - 1)
    bits[rows] = batch_bits
    return bits


def _bit(number: Ints) -> Ints:
    """Return the bit of each number from 0 to 6; `UNKNOWN` has the last bit."""
    return np.asarray(1 << (number & (_BITS - 1)), np.int64)


def _keywords(regions: Regions, numbers: dict[str, int]) -> RaggedArray:
    """Return the numbers of the keywords of each search, the rarest first."""
    constraints = regions.constraints["words"]
    assert isinstance(constraints.batch, Tags)
    words = numbered(constraints.batch.tokens.values, numbers)
    lengths = np.zeros(len(regions), np.int64)
    lengths[constraints.rows] = constraints.batch.groups.lengths
    word_rows = np.repeat(np.arange(len(regions)), lengths)
    order = np.lexsort((np.bincount(words)[words], word_rows))
    return RaggedArray.from_lengths(lengths, words[order])
