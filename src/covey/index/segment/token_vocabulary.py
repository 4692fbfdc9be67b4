"""Vocabulary of one tags attribute: its tokens as numbers and as codes.

A region may be found by the rarest token that it requires, so that only events with this token are
compared with the region. Tokens have codes, as keys have, so that tokens are one more attribute of
the tree. An event has one more query row for each distinct code of its tokens.
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
"""Numbers of a token that is not in the vocabulary, and of null."""
NO_TOKEN = 0
"""Code of a region that is not found by a token, and of a query row without a token."""
_FIRST_CODE = 4
_CODES = (LAST - _FIRST_CODE) // 2 - 1


@dataclass(frozen=True, slots=True, weakref_slot=True)
class TokenVocabulary:
    """Vocabulary of one attribute: token i is `tokens[i]` and has code `codes[i]`.

    `number_by_token` has the number of each token, and `NULL_TOKEN` for None, which means null.
    """

    tokens: list[str]
    codes: NDArray[np.uint16]
    number_by_token: dict[str | None, int]

    @classmethod
    def from_tags(cls, batch: Tags) -> TokenVocabulary:
        """Return the vocabulary of all tokens in a batch of rules.

        About the same number of rules name the tokens of each code: a frequent token has its own
        code, and rare tokens share codes.
        """
        rule_counts: dict[str, int] = {}
        for token in batch.tokens.values.tolist():
            rule_counts[token] = rule_counts.get(token, 0) + 1
        for token in (*batch.forbidden.values.tolist(), *batch.only.values.tolist()):
            rule_counts.setdefault(token, 0)
        tokens = sorted(rule_counts, key=lambda token: (-rule_counts[token], token))
        ordered_counts = np.array([rule_counts[token] for token in tokens], np.int64)
        shares_before = (np.cumsum(ordered_counts) - ordered_counts) / max(1, ordered_counts.sum())
        codes = _FIRST_CODE + 2 * (shares_before * _CODES).astype(np.int64)
        return cls._from_tokens(tokens, codes.astype(np.uint16))

    @classmethod
    def _from_tokens(cls, tokens: list[str], codes: NDArray[np.uint16]) -> TokenVocabulary:
        """Return the vocabulary of tokens with their codes."""
        numbers: dict[str | None, int] = {token: i for i, token in enumerate(tokens)}
        return cls(tokens, codes, {**numbers, None: NULL_TOKEN})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> TokenVocabulary:
        """Return the vocabulary that `to_arrays` turned into arrays."""
        tokens = unpack_values(arrays["tokens"], arrays["token_starts"], key_domain(STRING))
        return cls._from_tokens(tokens, arrays["token_codes"])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the vocabulary as named arrays."""
        content, starts = pack_values(self.tokens)
        return {"tokens": content, "token_starts": starts, "token_codes": self.codes}

    def encode_constraints(self, batch: Tags) -> Tags:
        """Return the rules with each token replaced by its number."""
        return self._map_tokens(batch, self._find_numbers)

    def decode_constraints(self, batch: Tags) -> Tags:
        """Return the rules with each number replaced by its token."""
        names = np.array([*self.tokens, None], object)[:-1]
        return self._map_tokens(batch, lambda numbers: names[numbers])

    def find_codes(self, numbers: Ints) -> NDArray[np.uint16]:
        """Return the code of each number; `NO_TOKEN` for unknown tokens and null."""
        codes: NDArray[np.uint16] = (
            self.codes[np.maximum(numbers, 0)]
            if len(self.codes)
            else np.zeros(len(numbers), np.uint16)
        )
        codes[numbers < 0] = NO_TOKEN
        return codes

    def encode_events(self, column: TagColumn) -> RaggedArray:
        """Return the list of token numbers of each event.

        A token that is not in the vocabulary has the number `UNKNOWN`, null has `NULL_TOKEN`.
        """
        return RaggedArray(column.tokens.offsets, self._encode_texts(column.texts))

    def _encode_texts(self, texts: DictionaryTexts) -> Ints:
        """Return the number of each text."""
        numbers: Ints = self._find_numbers(texts.distinct_values)[texts.codes]
        return numbers

    def _find_numbers(self, tokens: NDArray[np.object_]) -> Ints:
        """Return the number of each token; `UNKNOWN` if it is not in the vocabulary."""
        get = self.number_by_token.get
        return np.fromiter(
            (get(token, UNKNOWN) for token in tokens.tolist()), np.int64, len(tokens)
        )

    @staticmethod
    def _map_tokens(batch: Tags, function: Any) -> Tags:
        """Return rules with `function` applied to all arrays of tokens."""
        tokens, forbidden, only = (
            RaggedArray(ragged.offsets, function(ragged.values))
            for ragged in (batch.tokens, batch.forbidden, batch.only)
        )
        return replace(batch, tokens=tokens, forbidden=forbidden, only=only)


def compute_token_shares(numbers: Ints) -> NDArray[np.float32]:
    """Return for each item of `numbers` the share of equal items, to estimate token frequency."""
    counts = np.bincount(numbers, minlength=1)
    shares: NDArray[np.float32] = (counts / max(1, len(numbers))).astype(np.float32)[numbers]
    return shares


def find_required_tokens(batch: Tags) -> RaggedArray:
    """Return for each rule the tokens that it requires.

    A rule that admits null requires no token. Any other rule requires the token of each group that
    has only one token.
    """
    is_single = batch.tokens.lengths == 1
    group_rules = np.repeat(np.arange(len(batch)), batch.groups.lengths)
    is_required = is_single & (batch.states[group_rules] == ValueState.VALUE)
    lengths = np.bincount(group_rules[is_required], minlength=len(batch))
    return RaggedArray.from_lengths(
        lengths, batch.tokens.values[batch.tokens.offsets[:-1][is_required]]
    )
