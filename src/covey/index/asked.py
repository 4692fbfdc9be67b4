"""What an index is asked, as rows of codes and integers: events, or the two corners of regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.scalars import Scalars
from covey.geometry.tags import Tags
from covey.index.codes import LAST
from covey.index.columns import Column
from covey.index.kernels.tags import codes_once
from covey.index.vocabulary import NO_TOKEN, Vocabulary, wanted
from covey.space import Events
from covey.space.events import ScalarColumn, TagColumn
from covey.space.ragged import Ragged

__all__ = ["Asked", "padded"]

Codes = NDArray[np.uint16]
Ints = NDArray[np.int64]


def padded(attributes: int) -> int:
    """How many columns of codes some attributes need: kernels compare four at a time."""
    return max(4, -(-attributes // 4) * 4)


@dataclass(frozen=True, slots=True)
class Asked:
    """Rows with their lower and upper corner, of events the same; row i belongs to `owner[i]`.

    Whoever has tokens asks once without and once for each of them. `low_keys` and `high_keys` are
    by owner; `integers` are those of events, by attribute: keys of columns, lists of tokens.
    """

    low: Codes
    high: Codes
    low_keys: Ints
    high_keys: Ints
    owner: NDArray[np.int32]
    integers: Mapping[str, Any]

    @classmethod
    def events(
        cls, events: Events, columns: Sequence[Column], vocabularies: Mapping[str, Vocabulary]
    ) -> Asked:
        """One event a row, and again for each token that leads to regions."""
        count, width = len(events), padded(len(columns) + bool(vocabularies))
        codes, keys = np.zeros((count, width), np.uint16), np.zeros((count, width), np.int64)
        for k, column in enumerate(columns):
            given = events[column.name]
            assert isinstance(given, ScalarColumn)
            keys[:, k] = integers = column.of_events(given)
            column.codebook.encode(integers, given.valid, codes[:, k])
        known: dict[str, Any] = {column.name: keys[:, k] for k, column in enumerate(columns)}
        for name, vocabulary in vocabularies.items():
            tags = events[name]
            assert isinstance(tags, TagColumn)
            known[name] = vocabulary.of_events(tags)
        tokens = [(vocabularies[name], known[name]) for name in vocabularies]
        owner = np.arange(count, dtype=np.int32)
        return cls(codes, codes, keys, keys, owner, known)._by_token(len(columns), tokens)

    @classmethod
    def regions(
        cls,
        regions: Regions,
        columns: Sequence[Column],
        vocabularies: Mapping[str, Vocabulary],
        any_token: bool = False,
    ) -> Asked:
        """One region a row, and again for each token that all of its events have.

        With `any_token` it is once and for all tokens.
        """
        count, width = len(regions), padded(len(columns) + (any_token or bool(vocabularies)))
        low, high = np.zeros((count, width), np.uint16), np.full((count, width), LAST, np.uint16)
        low_keys, high_keys = np.zeros((count, width), np.int64), np.zeros((count, width), np.int64)
        for k, column in enumerate(columns):
            if column.name not in regions.constraints:
                continue
            given = regions.constraints[column.name]
            assert isinstance(given.batch, Scalars)
            batch, rows = column.integers(given.batch), given.rows
            column.codebook.write(batch, rows, low[:, k], high[:, k])
            low_keys[rows, k], high_keys[rows, k] = batch.lower, batch.upper
        tokens = []
        for name, vocabulary in vocabularies.items():
            if name in regions.constraints:
                tags = regions.constraints[name]
                assert isinstance(tags.batch, Tags)
                named = wanted(vocabulary.numbered(tags.batch))
                lengths = np.zeros(count, np.int64)
                lengths[tags.rows] = named.lengths
                tokens.append((vocabulary, Ragged.from_lengths(lengths, named.values)))
        if vocabularies:
            high[:, len(columns)] = NO_TOKEN
        owner = np.arange(count, dtype=np.int32)
        return cls(low, high, low_keys, high_keys, owner, {})._by_token(len(columns), tokens)

    def _by_token(self, column: int, tokens: Sequence[tuple[Vocabulary, Ragged]]) -> Asked:
        """Rows for the tokens that lead to regions, each once, besides one without."""
        if not tokens:
            return self
        lists = [
            Ragged(named.offsets, vocabulary.code(named.values)) for vocabulary, named in tokens
        ]
        both = reduce(Ragged.beside, lists)
        named, codes = codes_once(both.offsets, both.values)
        owner = np.concatenate([self.owner, named])
        low = self.low[owner]
        low[len(self.low) :, column] = codes
        high = low
        if self.high is not self.low:
            high = self.high[owner]
            high[len(self.low) :, column] = codes
        return replace(self, low=low, high=high, owner=owner)
