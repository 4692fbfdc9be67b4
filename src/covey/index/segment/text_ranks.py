"""Texts and long decimals as integers: their ranks among the ends of stored intervals.

The rank of a stored value is odd, that of the gap before it even, so ranks order texts just as the
texts themselves do wherever a stored end tells them apart: an interval of ranks contains an event's
rank if and only if the interval of texts contains its text.

Cost: the distinct stored texts; a dictionary look-up per distinct text of a batch, and a binary
search for those that are not stored.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry.scalars import ONLY, Scalars
from covey.space.keys import Domain, Keys
from covey.space.ragged_array import RaggedArray
from covey.space.text_bounds import TOP, Below

__all__ = ["TextRanks", "pack_values", "unpack_values"]

Ints = NDArray[np.int64]
_NOT_STORED = -2  # in a gap


@dataclass(frozen=True, slots=True)
class TextRanks:
    """The ranks of one attribute, whose `stored_values` ascend.

    `rank_by_value` has their ranks and those of the domain's two ends. If not `is_ordered`, stored
    are single values and lists only, and all that is not stored is alike.
    """

    original_domain: Domain
    stored_values: list[Any]
    rank_by_value: dict[Any, int]
    is_ordered: bool

    @classmethod
    def from_scalars(cls, batch: Scalars) -> TextRanks:
        """Ranks that tell all ends and listed keys of a batch apart."""
        named: set[Any] = set()
        for keys in (batch.lower, batch.upper, batch.lists.values):
            named.update(keys.tolist())
        named -= {batch.domain.low, batch.domain.high}
        texts = {key.text if isinstance(key, Below) else key for key in named}
        bounded = (batch.lower != batch.domain.low) | (batch.upper != batch.domain.high)
        ordered = bool(np.any(bounded & (batch.lower != batch.upper) & (batch.listed != ONLY)))
        return cls.from_values(batch.domain, sorted(texts), is_ordered=ordered)

    @classmethod
    def from_values(
        cls, original_domain: Domain, stored_values: list[Any], *, is_ordered: bool = True
    ) -> TextRanks:
        """Ranks from the stored values themselves."""
        ends = {original_domain.low: -1, original_domain.high: 2 * len(stored_values) + 1}
        numbers = ends | {key: 2 * i + 1 for i, key in enumerate(stored_values)}
        return cls(original_domain, stored_values, numbers, is_ordered)

    @property
    def domain(self) -> Domain:
        """The ranks that there are."""
        return Domain(-1, 2 * len(self.stored_values) + 1, np.dtype(np.int64))

    def encode_events(self, keys: Keys) -> Ints:
        """The rank of each event's key; one gap for all that is not stored, if that is enough."""
        if self.is_ordered:
            return self.find_ranks(keys)
        return np.array([self.rank_by_value.get(key, 0) for key in keys.tolist()], np.int64)

    def find_ranks(self, keys: Keys) -> Ints:
        """The rank of each key or end."""
        found = [self.rank_by_value.get(key, _NOT_STORED) for key in keys.tolist()]
        ranks = np.array(found, np.int64)
        for i in np.flatnonzero(ranks == _NOT_STORED).tolist():
            text = keys[i].text if isinstance(keys[i], Below) else keys[i]
            ranks[i] = 2 * bisect_left(self.stored_values, text)
        return ranks

    def encode_constraints(self, batch: Scalars) -> Scalars:
        """Constraints on keys as constraints on ranks."""
        lists = RaggedArray(batch.lists.offsets, self.find_ranks(batch.lists.values))
        return Scalars(
            self.domain, self.find_ranks(batch.lower), self.find_ranks(batch.upper), batch.nulls,
            batch.listed, lists,
        )  # fmt: skip

    def decode_constraints(self, batch: Scalars) -> Scalars:
        """Constraints on keys again, from what `encode_constraints` gave."""
        lists = RaggedArray(batch.lists.offsets, self._decode_keys(batch.lists.values))
        return Scalars(
            self.original_domain,
            self._decode_keys(batch.lower),
            self._decode_keys(batch.upper),
            batch.nulls,
            batch.listed,
            lists,
        )

    def _decode_keys(self, ranks: Ints) -> Keys:
        """The keys and ends of ranks: an even one is an end just below a stored value."""
        ends = [Below(key) if isinstance(key, str) else key for key in self.stored_values]
        by_rank = np.empty(2 * len(self.stored_values) + 3, object)
        by_rank[1:-2:2], by_rank[2:-1:2] = ends, self.stored_values
        by_rank[0], by_rank[-2], by_rank[-1] = (
            self.original_domain.low,
            TOP,
            self.original_domain.high,
        )
        keys: Keys = by_rank[ranks + 1]
        return keys


def pack_values(values: list[Any]) -> tuple[NDArray[np.uint8], Ints]:
    """Texts or integers as bytes, and where each starts."""
    texts = [str(value).encode() for value in values]
    starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return np.frombuffer(b"".join(texts), np.uint8), starts


def unpack_values(content: NDArray[np.uint8], starts: Ints, domain: Domain) -> list[Any]:
    """Texts or integers from what `pack_values` gave."""
    whole, ends = content.tobytes(), starts.tolist()
    texts = [whole[a:b].decode() for a, b in pairwise(ends)]
    return texts if domain.low == "" else [int(text) for text in texts]
