"""Constraints on one tags attribute: tokens that must and must not occur.

The states of a rule say whether it admits null, lists, or both. A list is admitted if it has at
least one token of every group, no forbidden token and, unless `only` is None, no token outside
`only`. If `whole` is true, the list must not have a null element either: for Spark, the absence of
a token from a list with a null element is unknown, not true. Each rule has one normal form: no
group contains a token that cannot occur, and no group contains all tokens of another group.

Cost: `contains` is vectorised; relations between two rules are decided pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey.space.events import ValueState
from covey.space.ragged_array import RaggedArray

__all__ = ["TagRule", "Tags"]

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]


class TagRule(NamedTuple):
    """One constraint on tags.

    `states` has the bits of the `ValueState`s that are admitted. An admitted list has at least one
    token of each group in `groups` and no token in `forbidden`. Unless `only` is None, it has no
    token outside `only`. If `whole` is true, it has no null element.
    """

    states: int = ValueState.VALUE
    groups: frozenset[frozenset[str]] = frozenset()
    forbidden: frozenset[str] = frozenset()
    whole: bool = False
    only: frozenset[str] | None = None

    def normalize(self) -> TagRule:
        """Return the rule in normal form; it admits the same lists, and null if this rule does."""
        only = None if self.only is None else self.only - self.forbidden
        groups = {g - self.forbidden if only is None else g & only for g in self.groups}
        if not self.states & ValueState.VALUE or frozenset() in groups:
            return TagRule(self.states & ValueState.NULL)
        smallest_groups = frozenset(g for g in groups if not any(other < g for other in groups))
        forbidden = self.forbidden if only is None else frozenset()
        return TagRule(self.states, smallest_groups, forbidden, self.whole, only)

    def covers(self, inner: TagRule) -> bool:
        """Return whether this rule admits everything that `inner` admits.

        Both rules must be in normal form.
        """
        if inner.states & ~self.states:
            return False
        if not inner.states & ValueState.VALUE:
            return True
        if inner.only is None:
            may_occur = self.only is None and self.forbidden <= inner.forbidden
        else:
            may_occur = not inner.only & self.forbidden and (
                self.only is None or inner.only <= self.only
            )
        return (
            may_occur
            and inner.whole >= self.whole
            and all(
                any(inner_group <= group for inner_group in inner.groups) for group in self.groups
            )
        )

    def intersect(self, other: TagRule) -> TagRule:
        """Return the rule that admits what both rules admit, in normal form."""
        return TagRule(
            self.states & other.states,
            self.groups | other.groups,
            self.forbidden | other.forbidden,
            self.whole or other.whole,
            self.only
            if other.only is None
            else other.only
            if self.only is None
            else self.only & other.only,
        ).normalize()

    def hull(self, other: TagRule) -> TagRule:
        """Return the smallest rule that covers both rules, in normal form.

        If both rules admit lists, each group of the result is the union of a group of this rule
        and a group of `other`. Both rules must be in normal form.
        """
        states = self.states | other.states
        for rule, other_rule in ((self, other), (other, self)):
            if not rule.states & ValueState.VALUE:
                return other_rule._replace(states=states)
        groups = frozenset(a | b for a in self.groups for b in other.groups)
        whole = self.whole and other.whole
        if self.only is not None and other.only is not None:
            return TagRule(states, groups, frozenset(), whole, self.only | other.only).normalize()
        forbidden = self._find_barred(other.forbidden) & other._find_barred(self.forbidden)
        return TagRule(states, groups, forbidden, whole).normalize()

    def _find_barred(self, tokens: frozenset[str]) -> frozenset[str]:
        """Return tokens that no admitted list contains.

        If `only` is None, these are the forbidden tokens of this rule. Otherwise they are all
        tokens outside `only`, of which those in `tokens` are returned.
        """
        return self.forbidden if self.only is None else tokens - self.only


UNCONSTRAINED_RULE = TagRule(ValueState.NULL | ValueState.VALUE)
"""The rule that admits every list and null."""


@dataclass(frozen=True, slots=True)
class Tags:
    """A batch of rules on one attribute, one rule per row, as columns.

    `groups.row(i)` contains the numbers of the groups of rule i, and `tokens.row(g)` the tokens of
    group g. `bounded[i]` is true if `TagRule.only` of rule i is not None; otherwise `only.row(i)`
    is empty. The other columns contain the fields of `TagRule` with the same names.
    """

    states: NDArray[np.uint8]
    groups: RaggedArray
    tokens: RaggedArray
    forbidden: RaggedArray
    whole: Bools
    bounded: Bools
    only: RaggedArray

    @classmethod
    def from_rules(cls, rules: Sequence[TagRule]) -> Tags:
        """Return a batch of the given rules. The rules must be in normal form."""
        groups = [[sorted(group) for group in sorted(map(sorted, rule.groups))] for rule in rules]
        counts = np.array([len(row) for row in groups], np.int64)
        return cls(
            np.array([rule.states for rule in rules], np.uint8),
            RaggedArray.from_lengths(counts, np.arange(counts.sum())),
            RaggedArray.from_rows([group for row in groups for group in row]),
            RaggedArray.from_rows([sorted(rule.forbidden) for rule in rules]),
            np.array([rule.whole for rule in rules], np.bool_),
            np.array([rule.only is not None for rule in rules], np.bool_),
            RaggedArray.from_rows([sorted(rule.only or ()) for rule in rules]),
        )

    @classmethod
    def build_unconstrained(cls, count: int) -> Tags:
        """Return `count` rows that admit every list and null."""
        return cls.from_rules([UNCONSTRAINED_RULE] * count)

    @classmethod
    def concat(cls, batches: Sequence[Tags]) -> Tags:
        """Return the rows of all batches, one batch after another."""
        tokens = RaggedArray.concat([batch.tokens for batch in batches])
        groups = RaggedArray.concat([batch.groups for batch in batches])
        return cls(
            np.concatenate([batch.states for batch in batches]),
            RaggedArray(groups.offsets, np.arange(len(tokens))),
            tokens,
            RaggedArray.concat([batch.forbidden for batch in batches]),
            np.concatenate([batch.whole for batch in batches]),
            np.concatenate([batch.bounded for batch in batches]),
            RaggedArray.concat([batch.only for batch in batches]),
        )

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.states)

    def take(self, rows: Rows) -> Tags:
        """Return the given rows in the given order; a row may occur several times."""
        groups = self.groups.take(rows)
        return Tags(
            self.states[rows],
            RaggedArray(groups.offsets, np.arange(len(groups.values))),
            self.tokens.take(groups.values),
            self.forbidden.take(rows),
            self.whole[rows],
            self.bounded[rows],
            self.only.take(rows),
        )

    def row(self, i: int) -> TagRule:
        """Return row i as a rule."""
        return TagRule(
            int(self.states[i]),
            frozenset(frozenset(self.tokens.row(g).tolist()) for g in self.groups.row(i)),
            frozenset(self.forbidden.row(i).tolist()),
            bool(self.whole[i]),
            frozenset(self.only.row(i).tolist()) if self.bounded[i] else None,
        )

    def drop_alternatives(self) -> Tags:
        """Return rules that require only the groups with a single token, if there are any."""
        rules = []
        for i in range(len(self)):
            rule = self.row(i)
            groups = frozenset(group for group in rule.groups if len(group) == 1)
            rules.append(rule._replace(groups=groups) if groups else UNCONSTRAINED_RULE)
        return Tags.from_rules(rules)

    @property
    def is_empty(self) -> Bools:
        """For each row, whether it admits neither a list nor null."""
        empty: Bools = self.states == 0
        return empty

    @property
    def is_unconstrained(self) -> Bools:
        """For each row, whether it admits every list and null."""
        has_no_rule = (
            (self.groups.lengths == 0) & (self.forbidden.lengths == 0) & ~self.whole & ~self.bounded
        )
        admits_all: Bools = has_no_rule & (self.states == UNCONSTRAINED_RULE.states)
        return admits_all

    def contains(self, lists: RaggedArray, valid: Bools) -> Bools:
        """Return for each i whether row i admits list i, or null where `valid[i]` is false.

        List i is row i of `lists`. Its elements are tokens, or None for null.
        """
        pair_of_group = _value_rows(self.groups)
        group_of_token = _value_rows(self.tokens)
        list_codes, group_codes, forbidden_codes, only_codes = _encode_tokens(
            lists.values, self.tokens.values, self.forbidden.values, self.only.values
        )
        width = 1 + int(
            max(
                codes.max(initial=0)
                for codes in (list_codes, group_codes, forbidden_codes, only_codes)
            )
        )
        is_null = np.array([token is None for token in lists.values.tolist()], np.bool_)
        token_lists = _value_rows(lists)
        present = token_lists * width + list_codes
        is_present = np.isin(pair_of_group[group_of_token] * width + group_codes, present)
        is_unmet = np.bincount(group_of_token[is_present], minlength=len(self.tokens)) == 0
        is_barred = np.isin(_value_rows(self.forbidden) * width + forbidden_codes, present)
        is_outside = (
            ~np.isin(present, _value_rows(self.only) * width + only_codes)
            & ~is_null
            & self.bounded[token_lists]
        )
        is_refused = np.zeros(len(self), np.bool_)
        is_refused[pair_of_group[is_unmet]] = True
        is_refused[_value_rows(self.forbidden)[is_barred]] = True
        is_refused[token_lists[is_outside | (is_null & self.whole[token_lists])]] = True
        return np.where(
            valid,
            ~is_refused & (self.states & ValueState.VALUE > 0),
            self.states & ValueState.NULL > 0,
        )

    def covers(self, inner: Tags) -> Bools:
        """Return for each i whether row i admits everything that row i of `inner` admits."""
        return self._decide_pairwise(inner, TagRule.covers)

    def overlaps(self, other: Tags) -> Bools:
        """Return for each i whether row i and row i of `other` both admit some list or null."""
        return self._decide_pairwise(other, lambda a, b: a.intersect(b).states != 0)

    def _decide_pairwise(self, other: Tags, decide: Callable[[TagRule, TagRule], bool]) -> Bools:
        """Return for each i the result of `decide` for row i of this batch and row i of `other`."""
        return np.array([decide(self.row(i), other.row(i)) for i in range(len(self))], np.bool_)

    def intersect(self, other: Tags) -> Tags:
        """Return for each i the rule that admits what row i and row i of `other` admit."""
        if self._has_only_tokens and other._has_only_tokens:
            batch = self._join_tokens(other)
            if batch is not None:
                return batch
        return Tags.from_rules([self.row(i).intersect(other.row(i)) for i in range(len(self))])

    @property
    def _has_only_tokens(self) -> bool:
        """Whether each rule only lists tokens that must all occur, and does not admit null."""
        has_other_rules = self.whole.any() or self.bounded.any() or len(self.forbidden.values)
        has_single_tokens = (self.tokens.lengths == 1).all() and (
            self.states == ValueState.VALUE
        ).all()
        return bool(has_single_tokens and not has_other_rules)

    def _join_tokens(self, other: Tags) -> Tags | None:
        """Return for each i a rule with the groups of row i and of row i of `other`.

        Return None if a rule would have the same group twice. For both batches,
        `_has_only_tokens` must be true.
        """
        tokens = RaggedArray(self.groups.offsets, self.tokens.values).hstack(
            RaggedArray(other.groups.offsets, other.tokens.values)
        )
        (codes,) = _encode_tokens(tokens.values)
        if len(np.unique(_value_rows(tokens) * (len(codes) + 1) + codes)) < len(codes):
            return None
        groups = RaggedArray.from_lengths(np.ones(len(codes), np.int64), tokens.values)
        return replace(
            self, groups=RaggedArray(tokens.offsets, np.arange(len(codes))), tokens=groups
        )

    def hull(self, groups: Rows) -> Tags:
        """Return for each group of rows one row: the smallest rule that covers all rows of it.

        Args:
            groups: the group number of each row, ascending, from 0 without gaps.
        """
        rows: dict[int, list[TagRule]] = {}
        for i, group in enumerate(groups.tolist()):
            rows.setdefault(group, []).append(self.row(i))
        return Tags.from_rules([reduce(TagRule.hull, rules) for rules in rows.values()])


def _value_rows(rows: RaggedArray) -> Rows:
    """Return for each value of a ragged array the number of its row."""
    return np.repeat(np.arange(len(rows)), rows.lengths)


def _encode_tokens(*arrays: NDArray[np.object_]) -> list[NDArray[np.int64]]:
    """Return arrays of numbers, one for each token; equal tokens have equal numbers in all arrays.

    A null token is None, and has a number too.
    """
    numbers: dict[object, int] = {}
    return [
        np.fromiter(
            (numbers.setdefault(token, len(numbers)) for token in array.tolist()),
            np.int64,
            len(array),
        )
        for array in arrays
    ]
