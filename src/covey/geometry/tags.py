"""Constraints on one tags attribute: tokens that must and must not occur.

A row admits null, lists, or both (`states`). A list is admitted if it has at least one token of
every required group, no forbidden token, and none outside `only` where that is given; if `whole`,
it has no null element either (Spark: that a token is absent is unknown, not true, where an element
is null). One spelling each: no group contains a token that cannot occur, nor another group.

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
    """One constraint, as people and relations see it."""

    states: int = ValueState.VALUE
    groups: frozenset[frozenset[str]] = frozenset()
    forbidden: frozenset[str] = frozenset()
    whole: bool = False
    only: frozenset[str] | None = None

    def normalize(self) -> TagRule:
        """The same rule in its one spelling."""
        only = None if self.only is None else self.only - self.forbidden
        groups = {g - self.forbidden if only is None else g & only for g in self.groups}
        if not self.states & ValueState.VALUE or frozenset() in groups:
            return TagRule(self.states & ValueState.NULL)
        kept = frozenset(g for g in groups if not any(other < g for other in groups))
        forbidden = self.forbidden if only is None else frozenset()
        return TagRule(self.states, kept, forbidden, self.whole, only)

    def covers(self, inner: TagRule) -> bool:
        """Whether every list (or null) that `inner` admits is admitted; both are tidy."""
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
            and all(any(has <= wants for has in inner.groups) for wants in self.groups)
        )

    def intersect(self, other: TagRule) -> TagRule:
        """What both admit."""
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
        """The smallest rule that covers both (each of its groups joins one of either)."""
        states = self.states | other.states
        for one, rest in ((self, other), (other, self)):
            if not one.states & ValueState.VALUE:
                return rest._replace(states=states)
        joined = frozenset(a | b for a in self.groups for b in other.groups)
        whole = self.whole and other.whole
        if self.only is not None and other.only is not None:
            return TagRule(states, joined, frozenset(), whole, self.only | other.only).normalize()
        forbidden = self._find_barred(other.forbidden) & other._find_barred(self.forbidden)
        return TagRule(states, joined, forbidden, whole).normalize()

    def _find_barred(self, tokens: frozenset[str]) -> frozenset[str]:
        """What this rule bars: all it forbids, and of `tokens` those outside `only`."""
        return self.forbidden if self.only is None else tokens - self.only


UNCONSTRAINED_RULE = TagRule(ValueState.NULL | ValueState.VALUE)


@dataclass(frozen=True, slots=True)
class Tags:
    """A batch of rules on one attribute, one a row, as columns.

    `groups` holds, for a row, its numbers in `tokens`, where each group is a row of tokens.
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
        """From single rules."""
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
        """No constraint at all, `count` times."""
        return cls.from_rules([UNCONSTRAINED_RULE] * count)

    @classmethod
    def concat(cls, batches: Sequence[Tags]) -> Tags:
        """The rows of all parts, one after another."""
        tokens = RaggedArray.concat([part.tokens for part in batches])
        groups = RaggedArray.concat([part.groups for part in batches])
        return cls(
            np.concatenate([part.states for part in batches]),
            RaggedArray(groups.offsets, np.arange(len(tokens))),
            tokens,
            RaggedArray.concat([part.forbidden for part in batches]),
            np.concatenate([part.whole for part in batches]),
            np.concatenate([part.bounded for part in batches]),
            RaggedArray.concat([part.only for part in batches]),
        )

    def __len__(self) -> int:
        return len(self.states)

    def take(self, rows: Rows) -> Tags:
        """The given rows in the given order."""
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
        """Row i as a rule."""
        return TagRule(
            int(self.states[i]),
            frozenset(frozenset(self.tokens.row(g).tolist()) for g in self.groups.row(i)),
            frozenset(self.forbidden.row(i).tolist()),
            bool(self.whole[i]),
            frozenset(self.only.row(i).tolist()) if self.bounded[i] else None,
        )

    @property
    def is_empty(self) -> Bools:
        """Rows that admit nothing."""
        empty: Bools = self.states == 0
        return empty

    @property
    def is_unconstrained(self) -> Bools:
        """Rows that admit every list and null."""
        free = (
            (self.groups.lengths == 0) & (self.forbidden.lengths == 0) & ~self.whole & ~self.bounded
        )
        everything: Bools = free & (self.states == UNCONSTRAINED_RULE.states)
        return everything

    def contains(self, lists: RaggedArray, valid: Bools) -> Bools:
        """Whether row i admits list i, or null where `valid` is false."""
        pair_of_group = _value_rows(self.groups)
        group_of_token = _value_rows(self.tokens)
        has, wants, bars, may = _encode_tokens(
            lists.values, self.tokens.values, self.forbidden.values, self.only.values
        )
        width = 1 + int(max(codes.max(initial=0) for codes in (has, wants, bars, may)))
        holes = np.array([token is None for token in lists.values.tolist()], np.bool_)
        owner = _value_rows(lists)
        present = owner * width + has
        met = np.isin(pair_of_group[group_of_token] * width + wants, present)
        unmet_groups = np.bincount(group_of_token[met], minlength=len(self.tokens)) == 0
        barred = np.isin(_value_rows(self.forbidden) * width + bars, present)
        strange = (
            ~np.isin(present, _value_rows(self.only) * width + may) & ~holes & self.bounded[owner]
        )
        refused = np.zeros(len(self), np.bool_)
        refused[pair_of_group[unmet_groups]] = True
        refused[_value_rows(self.forbidden)[barred]] = True
        refused[owner[strange | (holes & self.whole[owner])]] = True
        return np.where(
            valid,
            ~refused & (self.states & ValueState.VALUE > 0),
            self.states & ValueState.NULL > 0,
        )

    def covers(self, inner: Tags) -> Bools:
        """Whether row i admits all that row i of `inner` admits."""
        return self._decide_pairwise(inner, TagRule.covers)

    def overlaps(self, other: Tags) -> Bools:
        """Whether some list, or null, is admitted by row i of both."""
        return self._decide_pairwise(other, lambda a, b: a.intersect(b).states != 0)

    def _decide_pairwise(self, other: Tags, decide: Callable[[TagRule, TagRule], bool]) -> Bools:
        return np.array([decide(self.row(i), other.row(i)) for i in range(len(self))], np.bool_)

    def intersect(self, other: Tags) -> Tags:
        """What both row i's admit."""
        if self._has_only_tokens and other._has_only_tokens:
            joined = self._join_tokens(other)
            if joined is not None:
                return joined
        return Tags.from_rules([self.row(i).intersect(other.row(i)) for i in range(len(self))])

    @property
    def _has_only_tokens(self) -> bool:
        """Whether all rows ask for single tokens and nothing else."""
        strict = self.whole.any() or self.bounded.any() or len(self.forbidden.values)
        simple = (self.tokens.lengths == 1).all() and (self.states == ValueState.VALUE).all()
        return bool(simple and not strict)

    def _join_tokens(self, other: Tags) -> Tags | None:
        """Both rows' single tokens, unless some row asks for one twice."""
        tokens = RaggedArray(self.groups.offsets, self.tokens.values).hstack(
            RaggedArray(other.groups.offsets, other.tokens.values)
        )
        (codes,) = _encode_tokens(tokens.values)
        if len(np.unique(_value_rows(tokens) * (len(codes) + 1) + codes)) < len(codes):
            return None
        each = RaggedArray.from_lengths(np.ones(len(codes), np.int64), tokens.values)
        return replace(self, groups=RaggedArray(tokens.offsets, np.arange(len(codes))), tokens=each)

    def hull(self, groups: Rows) -> Tags:
        """One row a group that covers the group's rows; `groups` counts from 0, ascending."""
        rows: dict[int, list[TagRule]] = {}
        for i, group in enumerate(groups.tolist()):
            rows.setdefault(group, []).append(self.row(i))
        return Tags.from_rules([reduce(TagRule.hull, rules) for rules in rows.values()])


def _value_rows(rows: RaggedArray) -> Rows:
    """For every value, the row it belongs to."""
    return np.repeat(np.arange(len(rows)), rows.lengths)


def _encode_tokens(*arrays: NDArray[np.object_]) -> list[NDArray[np.int64]]:
    """The tokens of several arrays as numbers, the same number for the same token."""
    numbers: dict[object, int] = {}
    return [
        np.fromiter(
            (numbers.setdefault(token, len(numbers)) for token in array.tolist()),
            np.int64,
            len(array),
        )
        for array in arrays
    ]
