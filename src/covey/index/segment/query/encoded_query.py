"""Encoded queries: events, or the two corners of regions, as rows of codes and integers."""

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
from covey.index.segment.encoded_column import LAST, EncodedColumn
from covey.index.segment.token_vocabulary import NO_TOKEN, TokenVocabulary, find_required_tokens
from covey.space import Events
from covey.space.events import ScalarColumn, TagColumn
from covey.space.ragged_array import RaggedArray

__all__ = ["EncodedQuery", "padded_width"]

Codes = NDArray[np.uint16]
Ints = NDArray[np.int64]


def padded_width(attributes: int) -> int:
    """Return the number of columns of codes for this number of attributes.

    It is a multiple of 4, because kernels compare four codes at a time.
    """
    return max(4, -(-attributes // 4) * 4)


@dataclass(frozen=True, slots=True)
class EncodedQuery:
    """Batch of queries (events or regions) as rows of codes.

    A query has one row without a token, and one more row for each distinct code of its tokens.
    Tokens that occur in no stored region have no code. If `from_regions` is called with
    `any_token`, a query has only one row, which admits all tokens.

    Args:
        low: codes of the lower corner of each row.
        high: codes of the upper corner of each row; for events the same array as `low`.
        low_keys: for each query, the integer keys of its lower corner.
        high_keys: for each query, the integer keys of its upper corner.
        query_rows: for each row of codes, the number of its query.
        integers: by attribute, the integer keys of events (scalars) or their lists of token numbers
            (tags); empty for regions.
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
        """Return events as rows: one per event, and one for each distinct code of its tokens."""
        count, width = len(events), padded_width(len(columns) + bool(vocabularies))
        codes, keys = np.zeros((count, width), np.uint16), np.zeros((count, width), np.int64)
        for k, column in enumerate(columns):
            event_column = events[column.name]
            assert isinstance(event_column, ScalarColumn)
            keys[:, k] = integers = column.encode_events(event_column)
            column.codebook.write_codes(integers, event_column.valid, codes[:, k])
        integers_by_name: dict[str, Any] = {
            column.name: keys[:, k] for k, column in enumerate(columns)
        }
        for name, vocabulary in vocabularies.items():
            tags = events[name]
            assert isinstance(tags, TagColumn)
            integers_by_name[name] = vocabulary.encode_events(tags)
        tokens = [(vocabularies[name], integers_by_name[name]) for name in vocabularies]
        query_rows = np.arange(count, dtype=np.int32)
        return cls(codes, codes, keys, keys, query_rows, integers_by_name)._expand_tokens(
            len(columns), tokens
        )

    @classmethod
    def from_regions(
        cls,
        regions: Regions,
        columns: Sequence[EncodedColumn],
        vocabularies: Mapping[str, TokenVocabulary],
        *,
        any_token: bool = False,
    ) -> EncodedQuery:
        """Return regions as rows: one per region, and one for each code of a required token.

        With `any_token`, a region has only one row, which admits all tokens; `vocabularies` must
        then be empty.
        """
        count, width = len(regions), padded_width(len(columns) + (any_token or bool(vocabularies)))
        low, high = np.zeros((count, width), np.uint16), np.full((count, width), LAST, np.uint16)
        low_keys, high_keys = np.zeros((count, width), np.int64), np.zeros((count, width), np.int64)
        for k, column in enumerate(columns):
            if column.name not in regions.constraints:
                continue
            constraints = regions.constraints[column.name]
            assert isinstance(constraints.batch, Scalars)
            batch, rows = column.encode_constraints(constraints.batch), constraints.rows
            column.codebook.write_intervals(batch, rows, low[:, k], high[:, k])
            low_keys[rows, k], high_keys[rows, k] = batch.lower, batch.upper
        tokens = []
        for name, vocabulary in vocabularies.items():
            if name in regions.constraints:
                tags = regions.constraints[name]
                assert isinstance(tags.batch, Tags)
                required = find_required_tokens(vocabulary.encode_constraints(tags.batch))
                lengths = np.zeros(count, np.int64)
                lengths[tags.rows] = required.lengths
                tokens.append((vocabulary, RaggedArray.from_lengths(lengths, required.values)))
        if vocabularies:
            high[:, len(columns)] = NO_TOKEN
        query_rows = np.arange(count, dtype=np.int32)
        return cls(low, high, low_keys, high_keys, query_rows, {})._expand_tokens(
            len(columns), tokens
        )

    def _expand_tokens(
        self, column: int, tokens: Sequence[tuple[TokenVocabulary, RaggedArray]]
    ) -> EncodedQuery:
        """Add one row to each query per distinct code of its tokens; write the code to `column`.

        `tokens` has for each vocabulary the lists of token numbers of the queries.
        """
        if not tokens:
            return self
        lists = [
            RaggedArray(token_query_rows.offsets, vocabulary.find_codes(token_query_rows.values))
            for vocabulary, token_query_rows in tokens
        ]
        joined = reduce(RaggedArray.hstack, lists)
        token_query_rows, codes = collect_distinct_codes(joined.offsets, joined.values)
        query_rows = np.concatenate([self.query_rows, token_query_rows])
        low = self.low[query_rows]
        low[len(self.low) :, column] = codes
        high = low
        if self.high is not self.low:
            high = self.high[query_rows]
            high[len(self.low) :, column] = codes
        return replace(self, low=low, high=high, query_rows=query_rows)
