"""Atoms: conditions on one attribute, with literals yet to be filled in.

An atom says for which values of its attribute a condition is true (or, for the other side of a
NOT, for which it is false; where it is null, it is neither). `constrain` fills in the literals of
n predicates and gives n constraints. Atoms on the same attribute are intersected by
`intersect_atoms`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry.balls import Balls
from covey.geometry.distances import Metric
from covey.geometry.regions import ConstraintBatch
from covey.geometry.scalars import EXCEPT, ONLY, Scalars
from covey.geometry.tags import TagRule, Tags
from covey.language.values.literal_columns import (
    ALWAYS,
    NEVER,
    NULL,
    OK,
    WHOLE_LIST,
    KeyBounds,
    LiteralColumns,
    LiteralRef,
    LocatedLiteralError,
)
from covey.language.values.literals import LiteralError
from covey.language.values.vector_literals import decode_vector
from covey.space.events import ValueState
from covey.space.keys import Domain, Keys, key_domain
from covey.space.ragged_array import RaggedArray
from covey.space.space import Attribute
from covey.space.text_bounds import TOP, Below, upper_bound_before
from covey.space.types import FLOAT, Type

__all__ = [
    "Atom",
    "Comparison",
    "Conjunction",
    "Dnf",
    "InBall",
    "Membership",
    "Nullness",
    "Prefix",
    "TagTokens",
    "Truth",
    "intersect_atoms",
]

_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}
_MAX_EQUAL_KEYS = 256  # keys that a lossy cast makes equal to the literals of a list, all together
_TOO_MANY_KEYS = (
    "so many values equal this after Spark's cast that they cannot be listed; write a whole "
    "number, or a range"
)


@dataclass(frozen=True, slots=True)
class Nullness:
    """The attribute is null, or is not; for a vector also that comparing it would not raise."""

    attribute: Attribute
    states: int

    def constrain(self, slots: LiteralColumns) -> ConstraintBatch:
        type_, n = self.attribute.type, slots.count
        if type_.is_vector:
            return Balls.from_rows([(self.states, ())] * n, type_.length)
        if type_.is_tags:
            return Tags.from_rules(
                [TagRule(self.states & (ValueState.NULL | ValueState.VALUE))] * n
            )
        free = Scalars.build_unconstrained(key_domain(type_), n)
        if self.states & ValueState.VALUE:
            return replace(free, nulls=np.full(n, bool(self.states & ValueState.NULL)))
        return Scalars.from_intervals(free.domain, free.upper, free.lower, nulls=True)


@dataclass(frozen=True, slots=True)
class Truth:
    """A boolean attribute is true (1) or false (0)."""

    attribute: Attribute
    value: int

    def constrain(self, slots: LiteralColumns) -> ConstraintBatch:
        ends = np.full(slots.count, self.value, np.int64)
        return Scalars.from_intervals(key_domain(self.attribute.type), ends, ends)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`attribute op literal`, op one of lt, le, gt, ge; `common_type` is that of an `IN` list."""

    attribute: Attribute
    op: str
    ref: LiteralRef
    common_type: Type | None = None

    def negate(self) -> Comparison:
        return replace(self, op=_OPPOSITE[self.op])

    def constrain(self, slots: LiteralColumns) -> ConstraintBatch:
        whole = key_domain(self.attribute.type)
        at = slots.find_key_bounds(self.ref, self.attribute.type, self.op, self.common_type)
        lower, upper = _comparison_interval(whole, at, self.op)
        nulls = at.outcome == ALWAYS
        lower[nulls], upper[nulls] = whole.low, whole.high
        nothing = (at.outcome == NULL) | (at.outcome == NEVER)
        lower[nothing], upper[nothing] = whole.high, whole.low
        return _build_scalars(whole, lower, upper, nulls)


@dataclass(frozen=True, slots=True)
class Membership:
    """The attribute is one of some literals (or, with `is_positive` false, certainly none of them).

    With `null_safe` it is `<=>`; `common_type` is the type that an `IN` list is compared in.
    """

    attribute: Attribute
    refs: tuple[LiteralRef, ...]
    is_positive: bool = True
    null_safe: bool = False
    has_null: bool = False
    common_type: Type | None = None
    is_lossy: bool = False

    def constrain(self, slots: LiteralColumns) -> ConstraintBatch:
        if len(self.refs) == 1 and self.refs[0].is_list:
            return self._constrain_distinct(slots)
        return self._constrain_each(slots)

    def _constrain_distinct(self, slots: LiteralColumns) -> ConstraintBatch:
        """The constraints of lists, of which many predicates have the same."""
        column = slots.columns[self.refs[0].slot]
        numbers = {raw: i for i, raw in enumerate(dict.fromkeys(column))}
        of = np.fromiter((numbers[raw] for raw in column), np.int64, len(column))
        distinct = replace(slots, columns=[list(numbers)], count=len(numbers), failures={})
        batch = replace(self, refs=(LiteralRef(0, WHOLE_LIST),))._constrain_each(distinct)
        for i in np.flatnonzero(np.isin(of, list(distinct.failures))).tolist():
            failure = distinct.failures[int(of[i])]
            slots.failures.setdefault(i, LocatedLiteralError(str(failure), self.refs[0].slot))
        return batch.take(of)

    def _constrain_each(self, slots: LiteralColumns) -> Scalars:
        whole = key_domain(self.attribute.type)
        n = slots.count
        if len(self.refs) == 1 and not self.refs[0].is_list and self.is_positive:
            at = slots.find_key_bounds(self.refs[0], self.attribute.type, "=", self.common_type)
            lower, upper = _comparison_interval(whole, at, "=")
            nothing = at.outcome != OK
            lower[nothing], upper[nothing] = whole.high, whole.low
            nulls = nothing if self.null_safe else np.zeros(n, np.bool_)
            return _build_scalars(whole, lower, upper, nulls)
        lists, nullish = self._find_equal_keys(slots)
        free = Scalars.build_unconstrained(whole, n)
        listed = np.full(n, ONLY if self.is_positive else EXCEPT, np.int8)
        if not self.is_positive and not self.null_safe:
            empty = nullish | self.has_null
            free.lower[empty], free.upper[empty] = whole.high, whole.low
        nulls = np.full(n, self.null_safe and not self.is_positive) & ~nullish
        return Scalars.from_intervals(
            whole,
            free.lower,
            free.upper,
            nulls=nulls,
            list_modes=listed,
            lists=RaggedArray.from_rows(lists, whole.dtype),
        )

    def _find_equal_keys(self, slots: LiteralColumns) -> tuple[list[set[Any]], NDArray[np.bool_]]:
        """The keys equal to a literal of each predicate, and where some literal is null."""
        keys: list[set[Any]] = [set() for _ in range(slots.count)]
        more_keys = [0] * slots.count  # than there are literals
        nullish = np.zeros(slots.count, np.bool_)
        for ref in self.refs:
            row_of = np.arange(slots.count)
            source, one = slots, ref
            if ref.is_list:
                lengths, source = slots.split_lists(ref.slot)
                row_of, one = np.repeat(row_of, lengths), LiteralRef(0)
            at = source.find_key_bounds(one, self.attribute.type, "=", self.common_type)
            for k, failure in source.failures.items():
                slots.failures.setdefault(
                    int(row_of[k]), LocatedLiteralError(str(failure), ref.slot)
                )
            nullish[row_of[at.outcome == NULL]] = True
            cuts = np.flatnonzero(at.outcome == OK)
            rows = row_of[cuts].tolist()
            if at.at_least.dtype == object and any(isinstance(at.at_least[k], str) for k in cuts):
                for row, text in zip(rows, at.at_least[cuts].tolist(), strict=True):
                    keys[row].add(text)
                continue
            ends = zip(at.at_least[cuts].tolist(), at.above[cuts].tolist(), strict=True)
            for row, (at_least, above) in zip(rows, ends, strict=True):
                more_keys[row] += above - at_least - 1
                if more_keys[row] <= _MAX_EQUAL_KEYS:
                    keys[row].update(range(at_least, above))
                else:
                    slots.failures.setdefault(row, LocatedLiteralError(_TOO_MANY_KEYS, ref.slot))
        return keys, nullish


@dataclass(frozen=True, slots=True)
class Prefix:
    """The text starts with a literal; `side` inside, or below or above all such texts."""

    attribute: Attribute
    ref: LiteralRef
    side: str = "inside"

    def constrain(self, slots: LiteralColumns) -> ConstraintBatch:
        whole = key_domain(self.attribute.type)
        lower, upper = np.empty(slots.count, object), np.empty(slots.count, object)
        for i, pattern in enumerate(slots.decode_texts(self.ref)):
            lower[i], upper[i] = _prefix_interval(pattern.removesuffix("%"), self.side)
        return Scalars.from_intervals(whole, lower, upper)


def _prefix_interval(start: str, side: str) -> tuple[Any, Any]:
    last = _find_prefix_end(start)
    if side == "below":
        return "", upper_bound_before(start)
    if side == "above":
        return (last.text, TOP) if last.text is not None else ("\0", "")
    return start, last


def _find_prefix_end(start: str) -> Below:
    """The end of all texts with this start: before the next start that sorts after them."""
    stem = start.rstrip("\U0010ffff")
    if not stem:
        return TOP
    code = ord(stem[-1]) + 1
    return Below(stem[:-1] + chr(0xE000 if code == 0xD800 else code))


@dataclass(frozen=True, slots=True)
class TagTokens:
    """The tags have a token of every group in `required_groups` and none of `forbidden`.

    `forbidden` holds what a false condition forbids: the tags then have no null element either.
    `is_elementless`: they have no element at all.
    """

    attribute: Attribute
    required_groups: tuple[tuple[LiteralRef, ...], ...] = ()
    forbidden: tuple[LiteralRef, ...] = ()
    whole: bool = False
    is_elementless: bool = False

    def intersect(self, other: TagTokens) -> TagTokens:
        return TagTokens(
            self.attribute,
            self.required_groups + other.required_groups,
            self.forbidden + other.forbidden,
            self.whole or other.whole,
            self.is_elementless or other.is_elementless,
        )

    def constrain(self, slots: LiteralColumns) -> ConstraintBatch:
        columns = [
            [self._read_tokens(slots, ref) for ref in group] for group in self.required_groups
        ]
        barred = [self._read_tokens(slots, ref) for ref in self.forbidden]
        simple = (
            not barred and not self.is_elementless and all(len(group) == 1 for group in columns)
        )
        if simple and all(len(t) == 1 for (group,) in columns for t in group):
            tags = self._constrain_columnwise(
                [[t[0] for t in group] for (group,) in columns], slots.count
            )
            if tags is not None:
                return tags
        return Tags.from_rules(
            [
                TagRule(
                    ValueState.VALUE,
                    frozenset(frozenset(t for one in group for t in one[i]) for group in columns),
                    frozenset(t for one in barred for t in one[i]),
                    self.whole,
                    frozenset() if self.is_elementless else None,
                ).normalize()
                for i in range(slots.count)
            ]
        )

    def _read_tokens(self, slots: LiteralColumns, ref: LiteralRef) -> list[list[str]]:
        """The tokens that a literal names in every predicate: one, or those of a list."""
        if not ref.is_list:
            return [[text] for text in slots.decode_texts(ref)]
        lengths, flat = slots.split_lists(ref.slot)
        texts = RaggedArray.from_lengths(
            lengths, np.array(flat.decode_texts(LiteralRef(0)), object)
        )
        return [texts.row(i).tolist() for i in range(slots.count)]

    def _constrain_columnwise(self, columns: list[list[str]], n: int) -> Tags | None:
        """Single required tokens as columns, unless one is asked for twice."""
        groups = len(columns)
        tokens = np.empty((n, groups), object)
        for k, column in enumerate(columns):
            tokens[:, k] = column
        if any((tokens[:, a] == tokens[:, b]).any() for a in range(groups) for b in range(a)):
            return None
        counted = RaggedArray.from_lengths(np.full(n, groups), np.arange(n * groups))
        each = RaggedArray.from_lengths(np.ones(n * groups, np.int64), tokens.ravel())
        no = np.zeros(n, np.bool_)
        none = RaggedArray.empty(n)
        states = np.full(n, ValueState.VALUE, np.uint8)
        return Tags(states, counted, each, none, np.full(n, self.whole), no, none)


@dataclass(frozen=True, slots=True)
class InBall:
    """`score(attribute, centre) op literal`, op one of lt, le, gt, ge, =."""

    attribute: Attribute
    metric: Metric
    centre: LiteralRef
    op: str
    ref: LiteralRef

    def negate(self) -> InBall:
        return replace(self, op=_OPPOSITE[self.op])

    def constrain(self, slots: LiteralColumns) -> ConstraintBatch:
        n, length = slots.count, self.attribute.type.length
        whole = key_domain(FLOAT)
        at = slots.find_key_bounds(self.ref, FLOAT, self.op)
        lower, upper = (keys.astype(np.int64) for keys in _comparison_interval(whole, at, self.op))
        matrix = np.zeros((n, length), np.float32)
        for i, raw in enumerate(slots.columns[self.centre.slot]):
            try:
                matrix[i] = decode_vector(
                    raw, length, self.centre.cast_type is not None, slots.settings.ansi
                )
            except LiteralError as error:
                slots.failures.setdefault(i, LocatedLiteralError(str(error), self.centre.slot))
        if self.metric is Metric.L2:
            lower = np.maximum(lower, 0)
        nothing = (at.outcome != OK) | (lower > upper)
        free = (lower == 0) & (upper == whole.high) & (self.metric is Metric.L2)
        kept = ~nothing & ~free
        count = int(kept.sum())
        return Balls(
            np.where(nothing, 0, ValueState.VALUE).astype(np.uint8),
            RaggedArray.from_lengths(kept.astype(np.int64), np.arange(count)),
            np.full(count, self.metric, np.uint8),
            matrix[kept],
            lower[kept],
            upper[kept],
            np.zeros(count, np.bool_),
        )


Atom = Nullness | Truth | Comparison | Membership | Prefix | TagTokens | InBall
Conjunction = tuple[Atom, ...]
Dnf = list[Conjunction]


def intersect_atoms(atoms: Sequence[Atom], slots: LiteralColumns) -> ConstraintBatch:
    """The constraints of n predicates on one attribute: all of these atoms hold."""
    tokens = [atom for atom in atoms if isinstance(atom, TagTokens)]
    merged: list[Atom] = [atom for atom in atoms if not isinstance(atom, TagTokens)]
    if tokens:
        merged.append(reduce(TagTokens.intersect, tokens))
    batches: list[Any] = [atom.constrain(slots) for atom in merged]
    while len(batches) > 1:  # in pairs, as what many exclude by and by becomes long
        pairs = zip_longest(batches[::2], batches[1::2])
        batches = [a if b is None else a.intersect(b) for a, b in pairs]
    return batches[0]  # type: ignore[no-any-return]


def _build_scalars(whole: Domain, lower: Keys, upper: Keys, nulls: NDArray[np.bool_]) -> Scalars:
    """Constraints from ends that may lie one beyond the keys, where the interval is empty."""
    empty = np.asarray(lower > upper, np.bool_)
    lower[empty], upper[empty] = whole.high, whole.low
    return Scalars.from_intervals(
        whole, lower.astype(whole.dtype), upper.astype(whole.dtype), nulls=nulls
    )


def _comparison_interval(whole: Domain, at: KeyBounds, op: str) -> tuple[Keys, Keys]:
    """The keys for which a comparison holds, as closed intervals."""
    n = len(at.at_least)
    low, high = np.empty(n, at.at_least.dtype), np.empty(n, at.at_least.dtype)
    low[:], high[:] = whole.low, whole.high
    if op in ("gt", "ge"):
        return (at.above if op == "gt" else at.at_least).copy(), high
    last = at.at_least if op == "lt" else at.above
    if whole.low == "":
        # A text's cuts are the text itself; only below it lies a place that is no text.
        ends = at.at_least.copy()
        if op == "lt":
            ends[:] = [upper_bound_before(text) for text in ends.tolist()]
        return (at.at_least.copy() if op == "=" else low), ends
    return (at.at_least.copy() if op == "=" else low), last - 1
