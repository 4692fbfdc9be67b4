"""Atoms: conditions on one attribute whose literals are references to slots.

An atom describes the values of its attribute for which a condition is true or, under a NOT, the
values for which the condition is false. It includes no value for which the condition is null.
`constrain` fills in the literals of n predicates and returns n constraints. `intersect_atoms`
intersects atoms on the same attribute.
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
from covey.language.late_conditions import LateCondition
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
from covey.language.values.literals import LiteralError, split_list
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
    "LateTruth",
    "Membership",
    "Nullness",
    "Prefix",
    "TagTokens",
    "Truth",
    "intersect_atoms",
]

_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}
_MAX_EQUAL_KEYS = 256
"""The largest number of keys that may equal the literals of a predicate after a lossy cast; one
key per literal is not counted."""
_TOO_MANY_KEYS = (
    "after Spark's cast, too many values of the column equal this literal; write a whole number, "
    "or a range"
)


@dataclass(frozen=True, slots=True)
class Nullness:
    """Condition that an attribute is in one of several states, for example null or not null.

    `states` is a union of `ValueState` flags. If it does not contain `MALFORMED`, vectors on which
    Spark would raise an error are excluded.
    """

    attribute: Attribute
    states: int

    def constrain(self, slots: LiteralColumns) -> ConstraintBatch:
        """Return one constraint per predicate; all are equal, and `slots` gives their number."""
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
    """Condition that a boolean attribute is true (`value` 1) or false (0)."""

    attribute: Attribute
    value: int

    def constrain(self, slots: LiteralColumns) -> ConstraintBatch:
        """Return one constraint per predicate; all are equal, and `slots` gives their number."""
        ends = np.full(slots.count, self.value, np.int64)
        return Scalars.from_intervals(key_domain(self.attribute.type), ends, ends)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Condition `attribute op literal`, where `op` is one of lt, le, gt, ge.

    `common_type` is the common type of an `IN` list; None means the common type of the attribute
    and the literal.
    """

    attribute: Attribute
    op: str
    ref: LiteralRef
    common_type: Type | None = None

    def negate(self) -> Comparison:
        """Return the comparison that is true where this one is false."""
        return replace(self, op=_OPPOSITE[self.op])

    def constrain(self, slots: LiteralColumns) -> ConstraintBatch:
        """Return the constraint of each predicate, with its literals from `slots`."""
        domain = key_domain(self.attribute.type)
        bounds = slots.find_key_bounds(self.ref, self.attribute.type, self.op, self.common_type)
        lower, upper = _comparison_interval(domain, bounds, self.op)
        nulls = bounds.outcome == ALWAYS
        lower[nulls], upper[nulls] = domain.low, domain.high
        is_empty = (bounds.outcome == NULL) | (bounds.outcome == NEVER)
        lower[is_empty], upper[is_empty] = domain.high, domain.low
        return _build_scalars(domain, lower, upper, nulls)


@dataclass(frozen=True, slots=True)
class Membership:
    """Condition that an attribute equals one of several literals, or equals none of them.

    Attributes:
        attribute: the compared attribute.
        refs: references to the literals; each refers to one literal or to a whole list.
        is_positive: False if the attribute must equal none of the literals.
        null_safe: whether the operator is `<=>`.
        has_null: whether NULL is among the values of the list.
        common_type: the common type of an `IN` list; None means the common type of the attribute
            and the literal.
        is_lossy: whether, after the cast to the common type, more values of the attribute may equal
            a literal than can be listed; set only for `=` and `<=>`.
    """

    attribute: Attribute
    refs: tuple[LiteralRef, ...]
    is_positive: bool = True
    null_safe: bool = False
    has_null: bool = False
    common_type: Type | None = None
    is_lossy: bool = False

    def constrain(self, slots: LiteralColumns) -> ConstraintBatch:
        """Return the constraint of each predicate, with its literals from `slots`."""
        if len(self.refs) == 1 and self.refs[0].is_list:
            return self._constrain_distinct(slots)
        return self._constrain_each(slots)

    def _constrain_distinct(self, slots: LiteralColumns) -> ConstraintBatch:
        """Return the constraint of each predicate, computed once for each distinct list."""
        column = slots.columns[self.refs[0].slot]
        distinct_rows = {raw: i for i, raw in enumerate(dict.fromkeys(column))}
        list_rows = np.fromiter((distinct_rows[raw] for raw in column), np.int64, len(column))
        distinct = replace(
            slots, columns=[list(distinct_rows)], count=len(distinct_rows), failures={}
        )
        batch = replace(self, refs=(LiteralRef(0, WHOLE_LIST),))._constrain_each(distinct)
        for i in np.flatnonzero(np.isin(list_rows, list(distinct.failures))).tolist():
            failure = distinct.failures[int(list_rows[i])]
            slots.failures.setdefault(i, LocatedLiteralError(str(failure), self.refs[0].slot))
        return batch.take(list_rows)

    def _constrain_each(self, slots: LiteralColumns) -> Scalars:
        """Return the constraint of each predicate, computed row by row."""
        domain = key_domain(self.attribute.type)
        n = slots.count
        if len(self.refs) == 1 and not self.refs[0].is_list and self.is_positive:
            bounds = slots.find_key_bounds(self.refs[0], self.attribute.type, "=", self.common_type)
            lower, upper = _comparison_interval(domain, bounds, "=")
            is_empty = bounds.outcome != OK
            lower[is_empty], upper[is_empty] = domain.high, domain.low
            nulls = is_empty if self.null_safe else np.zeros(n, np.bool_)
            return _build_scalars(domain, lower, upper, nulls)
        lists, has_null_literal = self._find_equal_keys(slots)
        free = Scalars.build_unconstrained(domain, n)
        listed = np.full(n, ONLY if self.is_positive else EXCEPT, np.int8)
        if not self.is_positive and not self.null_safe:
            is_empty = has_null_literal | self.has_null
            free.lower[is_empty], free.upper[is_empty] = domain.high, domain.low
        nulls = np.full(n, self.null_safe and not self.is_positive) & ~has_null_literal
        return Scalars.from_intervals(
            domain,
            free.lower,
            free.upper,
            nulls=nulls,
            list_modes=listed,
            lists=RaggedArray.from_rows(lists, domain.dtype),
        )

    def _find_equal_keys(self, slots: LiteralColumns) -> tuple[list[set[Any]], NDArray[np.bool_]]:
        """Return for each predicate the keys that equal a literal, and whether a literal is null.

        If too many keys equal the literals of a predicate after the cast, an error is recorded in
        `slots.failures`.
        """
        keys: list[set[Any]] = [set() for _ in range(slots.count)]
        extra_keys = [0] * slots.count  # keys beyond one per literal
        has_null_literal = np.zeros(slots.count, np.bool_)
        for ref in self.refs:
            predicate_rows = np.arange(slots.count)
            source, source_ref = slots, ref
            if ref.is_list:
                lengths, source = slots.split_lists(ref.slot)
                predicate_rows, source_ref = np.repeat(predicate_rows, lengths), LiteralRef(0)
            bounds = source.find_key_bounds(source_ref, self.attribute.type, "=", self.common_type)
            for k, failure in source.failures.items():
                slots.failures.setdefault(
                    int(predicate_rows[k]), LocatedLiteralError(str(failure), ref.slot)
                )
            has_null_literal[predicate_rows[bounds.outcome == NULL]] = True
            bounded = np.flatnonzero(bounds.outcome == OK)
            rows = predicate_rows[bounded].tolist()
            lower = bounds.at_least[bounded].tolist()
            if bounds.at_least.dtype == object and any(isinstance(key, str) for key in lower):
                for row, text in zip(rows, lower, strict=True):
                    keys[row].add(text)
                continue
            upper = bounds.above[bounded].tolist()
            for row, at_least, above in zip(rows, lower, upper, strict=True):
                extra_keys[row] += above - at_least - 1
                if extra_keys[row] <= _MAX_EQUAL_KEYS:
                    keys[row].update(range(at_least, above))
                else:
                    slots.failures.setdefault(row, LocatedLiteralError(_TOO_MANY_KEYS, ref.slot))
        return keys, has_null_literal


@dataclass(frozen=True, slots=True)
class Prefix:
    """Condition on whether a text starts with a literal.

    `side` is `inside` for the texts that start with it, `below` for the texts that sort before all
    of these, and `above` for those that sort after all of these.
    """

    attribute: Attribute
    ref: LiteralRef
    side: str = "inside"

    def constrain(self, slots: LiteralColumns) -> ConstraintBatch:
        """Return the constraint of each predicate, with its literals from `slots`."""
        domain = key_domain(self.attribute.type)
        lower, upper = np.empty(slots.count, object), np.empty(slots.count, object)
        for i, pattern in enumerate(slots.decode_texts(self.ref)):
            lower[i], upper[i] = _prefix_interval(pattern.removesuffix("%"), self.side)
        return Scalars.from_intervals(domain, lower, upper)


def _prefix_interval(start: str, side: str) -> tuple[Any, Any]:
    """Return the interval of the texts that start with `start` (`inside`).

    If `side` is `below` or `above`, return the interval of all texts that sort before or after
    them.
    """
    last = _find_prefix_end(start)
    if side == "below":
        return "", upper_bound_before(start)
    if side == "above":
        return (last.text, TOP) if last.text is not None else ("\0", "")
    return start, last


def _find_prefix_end(start: str) -> Below:
    """Return the upper bound of the texts that start with `start`.

    It is just below the next text that sorts after all of them, or `TOP` if there is no such text.
    """
    stem = start.rstrip("\U0010ffff")
    if not stem:
        return TOP
    code = ord(stem[-1]) + 1
    return Below(stem[:-1] + chr(0xE000 if code == 0xD800 else code))


@dataclass(frozen=True, slots=True)
class TagTokens:
    """Condition that tags contain a token of every group and no forbidden token.

    Attributes:
        attribute: the tags.
        required_groups: groups of literals; the tags must contain a token of every group. Each
            literal is a token or a list of tokens.
        forbidden: literals of forbidden tokens; each is a token or a list of tokens.
        whole: whether the tags must not have a null element. If they have one, a condition that
            finds no token is null, not false.
        is_elementless: whether the tags must not have elements other than null.
    """

    attribute: Attribute
    required_groups: tuple[tuple[LiteralRef, ...], ...] = ()
    forbidden: tuple[LiteralRef, ...] = ()
    whole: bool = False
    is_elementless: bool = False

    def intersect(self, other: TagTokens) -> TagTokens:
        """Return the atom that holds where both atoms hold."""
        return TagTokens(
            self.attribute,
            self.required_groups + other.required_groups,
            self.forbidden + other.forbidden,
            self.whole or other.whole,
            self.is_elementless or other.is_elementless,
        )

    def constrain(self, slots: LiteralColumns) -> ConstraintBatch:
        """Return the constraint of each predicate, with its literals from `slots`."""
        columns = [
            [self._read_tokens(slots, ref) for ref in group] for group in self.required_groups
        ]
        forbidden_columns = [self._read_tokens(slots, ref) for ref in self.forbidden]
        is_simple = (
            not forbidden_columns
            and not self.is_elementless
            and all(len(group) == 1 for group in columns)
        )
        if is_simple and all(len(t) == 1 for (group,) in columns for t in group):
            tags = self._constrain_columnwise(
                [[t[0] for t in group] for (group,) in columns], slots.count
            )
            if tags is not None:
                return tags
        return Tags.from_rules(
            [
                TagRule(
                    ValueState.VALUE,
                    frozenset(frozenset(t for ref in group for t in ref[i]) for group in columns),
                    frozenset(t for column in forbidden_columns for t in column[i]),
                    self.whole,
                    frozenset() if self.is_elementless else None,
                ).normalize()
                for i in range(slots.count)
            ]
        )

    def _read_tokens(self, slots: LiteralColumns, ref: LiteralRef) -> list[list[str]]:
        """Return the tokens of a literal in each predicate: one token, or all tokens of a list."""
        if not ref.is_list:
            return [[text] for text in slots.decode_texts(ref)]
        lengths, flat = slots.split_lists(ref.slot)
        texts = RaggedArray.from_lengths(
            lengths, np.array(flat.decode_texts(LiteralRef(0)), object)
        )
        return [texts.row(i).tolist() for i in range(slots.count)]

    def _constrain_columnwise(self, columns: list[list[str]], n: int) -> Tags | None:
        """Return the constraints of predicates whose groups each have one token.

        Return None if a predicate requires the same token twice. `columns[k][row]` is the token of
        group k of predicate `row`; `n` is the number of predicates.
        """
        groups = len(columns)
        tokens = np.empty((n, groups), object)
        for k, column in enumerate(columns):
            tokens[:, k] = column
        if any((tokens[:, a] == tokens[:, b]).any() for a in range(groups) for b in range(a)):
            return None
        group_rows = RaggedArray.from_lengths(np.full(n, groups), np.arange(n * groups))
        group_tokens = RaggedArray.from_lengths(np.ones(n * groups, np.int64), tokens.ravel())
        all_false = np.zeros(n, np.bool_)
        no_tokens = RaggedArray.empty(n)
        states = np.full(n, ValueState.VALUE, np.uint8)
        whole = np.full(n, self.whole)
        return Tags(states, group_rows, group_tokens, no_tokens, whole, all_false, no_tokens)


@dataclass(frozen=True, slots=True)
class InBall:
    """Condition `score(attribute, centre) op literal`; `op` is one of lt, le, gt, ge, =.

    The score is the l2 distance or the cosine similarity, as `metric` says.
    """

    attribute: Attribute
    metric: Metric
    centre: LiteralRef
    op: str
    ref: LiteralRef

    def negate(self) -> InBall:
        """Return the condition that is true where this one is false; `op` must not be `=`."""
        return replace(self, op=_OPPOSITE[self.op])

    def constrain(self, slots: LiteralColumns) -> ConstraintBatch:
        """Return the constraint of each predicate, with its literals from `slots`."""
        n, length = slots.count, self.attribute.type.length
        domain = key_domain(FLOAT)
        bounds = slots.find_key_bounds(self.ref, FLOAT, self.op)
        lower, upper = (
            keys.astype(np.int64) for keys in _comparison_interval(domain, bounds, self.op)
        )
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
        is_empty = (bounds.outcome != OK) | (lower > upper)
        is_free = (lower == 0) & (upper == domain.high) & (self.metric is Metric.L2)
        has_ball = ~is_empty & ~is_free
        count = int(has_ball.sum())
        return Balls(
            np.where(is_empty, 0, ValueState.VALUE).astype(np.uint8),
            RaggedArray.from_lengths(has_ball.astype(np.int64), np.arange(count)),
            np.full(count, self.metric, np.uint8),
            matrix[has_ball],
            lower[has_ball],
            upper[has_ball],
            np.zeros(count, np.bool_),
        )


@dataclass(frozen=True, slots=True)
class LateTruth:
    """Late condition: Spark evaluates it for the events that satisfy the rest of a predicate.

    Attributes:
        attribute: the attribute `LATE`, whose tokens are late conditions.
        template: the template of the condition.
        parameters: the letter of each parameter of the template, and a reference to it.
    """

    attribute: Attribute
    template: Attribute
    parameters: tuple[tuple[str, LiteralRef], ...]

    def constrain(self, slots: LiteralColumns) -> ConstraintBatch:
        """Return the constraint of each predicate, with its literals from `slots`."""
        columns = [_read_parameters(slots, letter, ref) for letter, ref in self.parameters]
        tokens = np.empty(slots.count, object)
        tokens[:] = [
            LateCondition(self.template.name, values).token
            for values in (zip(*columns, strict=True) if columns else [()] * slots.count)
        ]
        return build_single_tokens(tokens)


def _read_parameters(slots: LiteralColumns, letter: str, ref: LiteralRef) -> list[Any]:
    """Return the value of a parameter in each predicate."""
    if letter == "s":
        return list(slots.decode_texts(ref))
    raws = slots.columns[ref.slot]
    if ref.element is not None:
        raws = [split_list(raw)[ref.element] for raw in raws]
    convert = float if letter in "dm" else int
    return [convert(raw.rstrip("dD")) for raw in raws]


Atom = Nullness | Truth | Comparison | Membership | Prefix | TagTokens | InBall | LateTruth
Conjunction = tuple[Atom, ...]
Dnf = list[Conjunction]


def build_single_tokens(tokens: NDArray[np.object_]) -> Tags:
    """Return rules of which each requires one token."""
    count = len(tokens)
    return Tags(
        np.full(count, ValueState.VALUE, np.uint8),
        RaggedArray.from_lengths(np.ones(count, np.int64), np.arange(count)),
        RaggedArray.from_lengths(np.ones(count, np.int64), tokens),
        RaggedArray.empty(count),
        np.zeros(count, np.bool_),
        np.zeros(count, np.bool_),
        RaggedArray.empty(count),
    )


def intersect_atoms(atoms: Sequence[Atom], slots: LiteralColumns) -> ConstraintBatch:
    """Return for each predicate the intersection of the constraints of atoms on one attribute."""
    tokens = [atom for atom in atoms if isinstance(atom, TagTokens)]
    merged: list[Atom] = [atom for atom in atoms if not isinstance(atom, TagTokens)]
    if tokens:
        merged.append(reduce(TagTokens.intersect, tokens))
    batches: list[Any] = [atom.constrain(slots) for atom in merged]
    while len(batches) > 1:  # in pairs: a running intersection would copy a growing list each time
        pairs = zip_longest(batches[::2], batches[1::2])
        batches = [a if b is None else a.intersect(b) for a, b in pairs]
    return batches[0]  # type: ignore[no-any-return]


def _build_scalars(whole: Domain, lower: Keys, upper: Keys, nulls: NDArray[np.bool_]) -> Scalars:
    """Return the constraints of intervals.

    If an interval is empty, its ends may lie outside of the domain `whole`.
    """
    empty = np.asarray(lower > upper, np.bool_)
    lower[empty], upper[empty] = whole.high, whole.low
    return Scalars.from_intervals(
        whole, lower.astype(whole.dtype), upper.astype(whole.dtype), nulls=nulls
    )


def _comparison_interval(whole: Domain, at: KeyBounds, op: str) -> tuple[Keys, Keys]:
    """Return the lower and upper ends of the intervals of keys for which a comparison is true.

    `at` has the bounds of the literals, one row per predicate.
    """
    n = len(at.at_least)
    low, high = np.empty(n, at.at_least.dtype), np.empty(n, at.at_least.dtype)
    low[:], high[:] = whole.low, whole.high
    if op in ("gt", "ge"):
        return (at.above if op == "gt" else at.at_least).copy(), high
    last = at.at_least if op == "lt" else at.above
    if whole.low == "":
        # Before most texts there is no last text, so an interval of `<` ends at a `Below` bound.
        ends = at.at_least.copy()
        if op == "lt":
            ends[:] = [upper_bound_before(text) for text in ends.tolist()]
        return (at.at_least.copy() if op == "=" else low), ends
    return (at.at_least.copy() if op == "=" else low), last - 1
