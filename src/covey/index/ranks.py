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
from covey.space.ragged import Ragged
from covey.space.text import TOP, Below

__all__ = ["Ranks", "packed", "unpacked"]

Ints = NDArray[np.int64]
_ELSEWHERE = -2  # in a gap


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranks of one attribute: `known` are its stored values, ascending.

    `numbers` has their ranks and those of the domain's two ends. If not `ordered`, stored are
    single values and lists only, and all that is not stored is alike.
    """

    original: Domain
    known: list[Any]
    numbers: dict[Any, int]
    ordered: bool

    @classmethod
    def of(cls, batch: Scalars) -> Ranks:
        """Ranks that tell all ends and listed keys of a batch apart."""
        named: set[Any] = set()
        for keys in (batch.lower, batch.upper, batch.lists.values):
            named.update(keys.tolist())
        named -= {batch.domain.low, batch.domain.high}
        texts = {key.text if isinstance(key, Below) else key for key in named}
        bounded = (batch.lower != batch.domain.low) | (batch.upper != batch.domain.high)
        ordered = bool(np.any(bounded & (batch.lower != batch.upper) & (batch.listed != ONLY)))
        return cls.from_known(batch.domain, sorted(texts), ordered)

    @classmethod
    def from_known(cls, original: Domain, known: list[Any], ordered: bool = True) -> Ranks:
        """Ranks from the stored values themselves."""
        ends = {original.low: -1, original.high: 2 * len(known) + 1}
        numbers = ends | {key: 2 * i + 1 for i, key in enumerate(known)}
        return cls(original, known, numbers, ordered)

    @property
    def domain(self) -> Domain:
        """The ranks that there are."""
        return Domain(-1, 2 * len(self.known) + 1, np.dtype(np.int64))

    def of_events(self, keys: Keys) -> Ints:
        """The rank of each event's key; one gap for all that is not stored, if that is enough."""
        if self.ordered:
            return self.ranks(keys)
        return np.array([self.numbers.get(key, 0) for key in keys.tolist()], np.int64)

    def ranks(self, keys: Keys) -> Ints:
        """The rank of each key or end."""
        found = [self.numbers.get(key, _ELSEWHERE) for key in keys.tolist()]
        ranks = np.array(found, np.int64)
        for i in np.flatnonzero(ranks == _ELSEWHERE).tolist():
            text = keys[i].text if isinstance(keys[i], Below) else keys[i]
            ranks[i] = 2 * bisect_left(self.known, text)
        return ranks

    def ranked(self, batch: Scalars) -> Scalars:
        """Constraints on keys as constraints on ranks."""
        lists = Ragged(batch.lists.offsets, self.ranks(batch.lists.values))
        return Scalars(
            self.domain, self.ranks(batch.lower), self.ranks(batch.upper), batch.nulls,
            batch.listed, lists,
        )  # fmt: skip

    def restored(self, batch: Scalars) -> Scalars:
        """Constraints on keys again, from what `ranked` gave."""
        lists = Ragged(batch.lists.offsets, self._keys(batch.lists.values))
        return Scalars(
            self.original, self._keys(batch.lower), self._keys(batch.upper), batch.nulls,
            batch.listed, lists,
        )  # fmt: skip

    def _keys(self, ranks: Ints) -> Keys:
        """The keys and ends of ranks: an even one is an end just below a stored value."""
        ends = [Below(key) if isinstance(key, str) else key for key in self.known]
        by_rank = np.empty(2 * len(self.known) + 3, object)
        by_rank[1:-2:2], by_rank[2:-1:2] = ends, self.known
        by_rank[0], by_rank[-2], by_rank[-1] = self.original.low, TOP, self.original.high
        keys: Keys = by_rank[ranks + 1]
        return keys


def packed(values: list[Any]) -> tuple[NDArray[np.uint8], Ints]:
    """Texts or integers as bytes, and where each starts."""
    texts = [str(value).encode() for value in values]
    starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return np.frombuffer(b"".join(texts), np.uint8), starts


def unpacked(content: NDArray[np.uint8], starts: Ints, original: Domain) -> list[Any]:
    """Texts or integers from what `packed` gave."""
    whole, ends = content.tobytes(), starts.tolist()
    texts = [whole[a:b].decode() for a, b in pairwise(ends)]
    return texts if original.low == "" else [int(text) for text in texts]
