"""Queries as rows of codes and integers: events, or the two corners of regions."""

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
from covey.index.kernels.key_codes import collect_distinct_codes
from covey.index.segment.codebook import LAST
from covey.index.segment.encoded_column import EncodedColumn
from covey.index.segment.token_vocabulary import NO_TOKEN, TokenVocabulary, find_required_tokens
from covey.space import Events
from covey.space.events import ScalarColumn, TagColumn
from covey.space.ragged_array import RaggedArray

__all__ = ["EncodedQuery", "padded_width"]

Codes = NDArray[np.uint16]
Ints = NDArray[np.int64]


def padded_width(attributes: int) -> int:
    """How many columns of codes some attributes need: kernels compare four at a time."""
    return max(4, -(-attributes // 4) * 4)


@dataclass(frozen=True, slots=True)
class EncodedQuery:
    """Rows with their lower and upper corner, of events the same.

    Row i belongs to query row `query_rows[i]`: one that has tokens has a row without and one for
    each of them. `low_keys` and `high_keys` are by query row; `integers` are those of events, by
    attribute: keys of columns, lists of tokens.
    """

    low: Codes
    high: Codes
    low_keys: Ints
    high_keys: Ints
    query_rows: NDArray[np.int32]
    integers: Mapping[str, Any]

    @classmethod
    def from_events(
        cls,
        events: Events,
        columns: Sequence[EncodedColumn],
        vocabularies: Mapping[str, TokenVocabulary],
    ) -> EncodedQuery:
        """One event a row, and again for each token that leads to regions."""
        count, width = len(events), padded_width(len(columns) + bool(vocabularies))
        codes, keys = np.zeros((count, width), np.uint16), np.zeros((count, width), np.int64)
        for k, column in enumerate(columns):
            given = events[column.name]
            assert isinstance(given, ScalarColumn)
            keys[:, k] = integers = column.encode_events(given)
            column.codebook.write_codes(integers, given.valid, codes[:, k])
        known: dict[str, Any] = {column.name: keys[:, k] for k, column in enumerate(columns)}
        for name, vocabulary in vocabularies.items():
            tags = events[name]
            assert isinstance(tags, TagColumn)
            known[name] = vocabulary.encode_events(tags)
        tokens = [(vocabularies[name], known[name]) for name in vocabularies]
        owner = np.arange(count, dtype=np.int32)
        return cls(codes, codes, keys, keys, owner, known)._expand_tokens(len(columns), tokens)

    @classmethod
    def from_regions(
        cls,
        regions: Regions,
        columns: Sequence[EncodedColumn],
        vocabularies: Mapping[str, TokenVocabulary],
        *,
        any_token: bool = False,
    ) -> EncodedQuery:
        """One region a row, and again for each token that all of its events have.

        With `any_token` it is once and for all tokens.
        """
        count, width = len(regions), padded_width(len(columns) + (any_token or bool(vocabularies)))
        low, high = np.zeros((count, width), np.uint16), np.full((count, width), LAST, np.uint16)
        low_keys, high_keys = np.zeros((count, width), np.int64), np.zeros((count, width), np.int64)
        for k, column in enumerate(columns):
            if column.name not in regions.constraints:
                continue
            given = regions.constraints[column.name]
            assert isinstance(given.batch, Scalars)
            batch, rows = column.encode_constraints(given.batch), given.rows
            column.codebook.write_intervals(batch, rows, low[:, k], high[:, k])
            low_keys[rows, k], high_keys[rows, k] = batch.lower, batch.upper
        tokens = []
        for name, vocabulary in vocabularies.items():
            if name in regions.constraints:
                tags = regions.constraints[name]
                assert isinstance(tags.batch, Tags)
                named = find_required_tokens(vocabulary.encode_constraints(tags.batch))
                lengths = np.zeros(count, np.int64)
                lengths[tags.rows] = named.lengths
                tokens.append((vocabulary, RaggedArray.from_lengths(lengths, named.values)))
        if vocabularies:
            high[:, len(columns)] = NO_TOKEN
        owner = np.arange(count, dtype=np.int32)
        return cls(low, high, low_keys, high_keys, owner, {})._expand_tokens(len(columns), tokens)

    def _expand_tokens(
        self, column: int, tokens: Sequence[tuple[TokenVocabulary, RaggedArray]]
    ) -> EncodedQuery:
        """Rows for the tokens that lead to regions, each once, besides one without."""
        if not tokens:
            return self
        lists = [
            RaggedArray(named.offsets, vocabulary.find_codes(named.values))
            for vocabulary, named in tokens
        ]
        both = reduce(RaggedArray.hstack, lists)
        named, codes = collect_distinct_codes(both.offsets, both.values)
        owner = np.concatenate([self.query_rows, named])
        low = self.low[owner]
        low[len(self.low) :, column] = codes
        high = low
        if self.high is not self.low:
            high = self.high[owner]
            high[len(self.low) :, column] = codes
        return replace(self, low=low, high=high, query_rows=owner)
