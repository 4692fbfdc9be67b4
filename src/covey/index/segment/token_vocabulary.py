"""Tokens of one tags attribute as numbers, and the token by which a region is found.

A region that wants certain tokens is found by the one that fewest events have: only events with
that token need to look at it. Such tokens have codes like any key's, so that tokens are one more
attribute of the tree; an event has one more query row for each of its tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry.tags import Tags
from covey.index.kernels.bits import LAST
from covey.index.segment.text_ranks import pack_values, unpack_values
from covey.space.events import DictionaryTexts, TagColumn, ValueState
from covey.space.keys import key_domain
from covey.space.ragged_array import RaggedArray
from covey.space.types import STRING

__all__ = ["NO_TOKEN", "TokenVocabulary", "compute_token_shares", "find_required_tokens"]

Ints = NDArray[np.int64]

UNKNOWN, NULL_TOKEN = -1, -2
NO_TOKEN = 0
"""The code of regions, and of rows of a query, that no token leads to."""
_FIRST_CODE = 4
_CODES = (LAST - _FIRST_CODE) // 2 - 1


@dataclass(frozen=True, slots=True)
class TokenVocabulary:
    """The stored tokens of one attribute, by number, with the code of each."""

    tokens: list[str]
    codes: NDArray[np.uint16]
    number_by_token: dict[str | None, int]

    @classmethod
    def from_tags(cls, batch: Tags) -> TokenVocabulary:
        """All tokens of a batch of rules.

        Equally many rules for each code: a frequent token has a code of its own, rare ones share.
        """
        count: dict[str, int] = {}
        for token in batch.tokens.values.tolist():
            count[token] = count.get(token, 0) + 1
        for token in (*batch.forbidden.values.tolist(), *batch.only.values.tolist()):
            count.setdefault(token, 0)
        tokens = sorted(count, key=lambda token: (-count[token], token))
        rules = np.array([count[token] for token in tokens], np.int64)
        before = (np.cumsum(rules) - rules) / max(1, rules.sum())
        codes = _FIRST_CODE + 2 * (before * _CODES).astype(np.int64)
        return cls._from_tokens(tokens, codes.astype(np.uint16))

    @classmethod
    def _from_tokens(cls, tokens: list[str], codes: NDArray[np.uint16]) -> TokenVocabulary:
        numbers: dict[str | None, int] = {token: i for i, token in enumerate(tokens)}
        return cls(tokens, codes, {**numbers, None: NULL_TOKEN})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> TokenVocabulary:
        """A vocabulary from what `to_arrays` gave."""
        tokens = unpack_values(arrays["tokens"], arrays["token_starts"], key_domain(STRING))
        return cls._from_tokens(tokens, arrays["token_codes"])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All that it is made of."""
        content, starts = pack_values(self.tokens)
        return {"tokens": content, "token_starts": starts, "token_codes": self.codes}

    def encode_constraints(self, batch: Tags) -> Tags:
        """Rules on numbers, from rules on tokens."""
        return self._map_tokens(batch, self._find_numbers)

    def decode_constraints(self, batch: Tags) -> Tags:
        """Rules on tokens again."""
        names = np.array([*self.tokens, None], object)[:-1]
        return self._map_tokens(batch, lambda numbers: names[numbers])

    def find_codes(self, numbers: Ints) -> NDArray[np.uint16]:
        """The code of each number, and none for what is not stored."""
        codes: NDArray[np.uint16] = (
            self.codes[np.maximum(numbers, 0)]
            if len(self.codes)
            else np.zeros(len(numbers), np.uint16)
        )
        codes[numbers < 0] = NO_TOKEN
        return codes

    def encode_events(self, column: TagColumn) -> RaggedArray:
        """The numbers of events' tokens, of those that are not stored and of null as well."""
        return RaggedArray(column.tokens.offsets, self._encode_texts(column.texts))

    def _encode_texts(self, texts: DictionaryTexts) -> Ints:
        found: Ints = self._find_numbers(texts.distinct_values)[texts.codes]
        return found

    def _find_numbers(self, tokens: NDArray[np.object_]) -> Ints:
        get = self.number_by_token.get
        return np.fromiter(
            (get(token, UNKNOWN) for token in tokens.tolist()), np.int64, len(tokens)
        )

    @staticmethod
    def _map_tokens(batch: Tags, function: Any) -> Tags:
        tokens, forbidden, only = (
            RaggedArray(ragged.offsets, function(ragged.values))
            for ragged in (batch.tokens, batch.forbidden, batch.only)
        )
        return replace(batch, tokens=tokens, forbidden=forbidden, only=only)


def compute_token_shares(numbers: Ints) -> NDArray[np.float32]:
    """Of each of these numbers, its share of all: how likely a token is, as far as one knows."""
    counts = np.bincount(numbers, minlength=1)
    found: NDArray[np.float32] = (counts / max(1, len(numbers))).astype(np.float32)[numbers]
    return found


def find_required_tokens(batch: Tags) -> RaggedArray:
    """For each rule, the tokens without which it admits nothing (none where it admits null)."""
    single = batch.tokens.lengths == 1
    owner = np.repeat(np.arange(len(batch)), batch.groups.lengths)
    chosen = single & (batch.states[owner] == ValueState.VALUE)
    lengths = np.bincount(owner[chosen], minlength=len(batch))
    return RaggedArray.from_lengths(lengths, batch.tokens.values[batch.tokens.offsets[:-1][chosen]])
