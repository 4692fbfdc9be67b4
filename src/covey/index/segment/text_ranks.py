"""Ranks of texts and long decimals among the ends and listed values of stored constraints.

The rank of a stored value is odd, and the rank of the gap before it is even. So ranks have the
order of the values, but all values in one gap have the same rank. An interval of ranks contains the
rank of a value if and only if the corresponding interval of values contains the value.

Cost: the distinct stored values in memory; one dictionary look-up per distinct value of a batch,
and a binary search for each value that is not stored.
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
_NOT_STORED = -2  # the value lies in a gap


@dataclass(frozen=True, slots=True)
class TextRanks:
    """Ranks of the values of one attribute, which are texts or long decimals.

    Args:
        original_domain: the domain of the keys.
        stored_values: the distinct values at ends of intervals and in lists, ascending.
        rank_by_value: the ranks of stored values and of both ends of the domain.
        is_ordered: whether any stored constraint is an interval of more than one value. If not,
            only equality matters, and all values of events that are not stored have the same rank.
    """

    original_domain: Domain
    stored_values: list[Any]
    rank_by_value: dict[Any, int]
    is_ordered: bool

    @classmethod
    def from_scalars(cls, batch: Scalars) -> TextRanks:
        """Return ranks that distinguish all ends and listed keys of a batch."""
        keys_in_use: set[Any] = set()
        for keys in (batch.lower, batch.upper, batch.lists.values):
            keys_in_use.update(keys.tolist())
        keys_in_use -= {batch.domain.low, batch.domain.high}
        texts = {key.text if isinstance(key, Below) else key for key in keys_in_use}
        bounded = (batch.lower != batch.domain.low) | (batch.upper != batch.domain.high)
        ordered = bool(np.any(bounded & (batch.lower != batch.upper) & (batch.listed != ONLY)))
        return cls.from_values(batch.domain, sorted(texts), is_ordered=ordered)

    @classmethod
    def from_values(
        cls, original_domain: Domain, stored_values: list[Any], *, is_ordered: bool = True
    ) -> TextRanks:
        """Return the ranks of ascending stored values."""
        ends = {original_domain.low: -1, original_domain.high: 2 * len(stored_values) + 1}
        rank_by_value = ends | {key: 2 * i + 1 for i, key in enumerate(stored_values)}
        return cls(original_domain, stored_values, rank_by_value, is_ordered)

    @property
    def domain(self) -> Domain:
        """Domain of the ranks."""
        return Domain(-1, 2 * len(self.stored_values) + 1, np.dtype(np.int64))

    def encode_events(self, keys: Keys) -> Ints:
        """Return the rank of each key of events.

        If `is_ordered` is false, all values that are not stored have rank 0, so that they are not
        searched for.
        """
        if self.is_ordered:
            return self.find_ranks(keys)
        return np.array([self.rank_by_value.get(key, 0) for key in keys.tolist()], np.int64)

    def find_ranks(self, keys: Keys) -> Ints:
        """Return the rank of each key or end of an interval."""
        known_ranks = [self.rank_by_value.get(key, _NOT_STORED) for key in keys.tolist()]
        ranks = np.array(known_ranks, np.int64)
        for i in np.flatnonzero(ranks == _NOT_STORED).tolist():
            text = keys[i].text if isinstance(keys[i], Below) else keys[i]
            ranks[i] = 2 * bisect_left(self.stored_values, text)
        return ranks

    def encode_constraints(self, batch: Scalars) -> Scalars:
        """Return the constraints with each key replaced by its rank."""
        lists = RaggedArray(batch.lists.offsets, self.find_ranks(batch.lists.values))
        return Scalars(
            self.domain, self.find_ranks(batch.lower), self.find_ranks(batch.upper), batch.nulls,
            batch.listed, lists,
        )  # fmt: skip

    def decode_constraints(self, batch: Scalars) -> Scalars:
        """Return the constraints with each rank replaced by its key."""
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
        """Return the key for each rank.

        The key of an odd rank is a stored value. That of an even rank is the end just below the
        next stored value, or `TOP` after the last stored value. The keys of the lowest and the
        highest rank are the ends of the domain.
        """
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
    """Return texts or integers as UTF-8 bytes, and the positions at which their bytes start.

    The last position is the end of the bytes of the last value.
    """
    texts = [str(value).encode() for value in values]
    starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return np.frombuffer(b"".join(texts), np.uint8), starts


def unpack_values(content: NDArray[np.uint8], starts: Ints, domain: Domain) -> list[Any]:
    """Return the texts or integers that `pack_values` turned into bytes."""
    whole, ends = content.tobytes(), starts.tolist()
    texts = [whole[a:b].decode() for a, b in pairwise(ends)]
    return texts if domain.low == "" else [int(text) for text in texts]
