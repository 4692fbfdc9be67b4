"""Atoms: conditions on one attribute, with literals yet to be filled in.

An atom says for which values of its attribute a condition is true (or, for the other side of a
NOT, for which it is false; where it is null, it is neither). `constrain` fills in the literals of
n predicates and gives n constraints. Atoms on the same attribute are intersected by `joined`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry.balls import Balls
from covey.geometry.distances import Metric
from covey.geometry.regions import Batch
from covey.geometry.scalars import EXCEPT, ONLY, Scalars
from covey.geometry.tags import Rule, Tags
from covey.language.literals import LiteralError
from covey.language.slots import ALWAYS, NEVER, NULL, OK, WHOLE, Located, Positions, Ref, Slots
from covey.language.vectors import centres
from covey.space.events import State
from covey.space.keys import Domain, Keys, domain
from covey.space.ragged import Ragged
from covey.space.space import Attribute
from covey.space.text import TOP, Below, before
from covey.space.types import FLOAT, Type

__all__ = [
    "Atom",
    "Compare",
    "Conjunction",
    "InBall",
    "Member",
    "Nullness",
    "Prefix",
    "Tokens",
    "Truth",
    "Union",
    "joined",
]

_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}
_MOST_EQUAL = 4096  # keys that a lossy cast makes equal to one literal


@dataclass(frozen=True, slots=True)
class Nullness:
    """The attribute is null, or is not; for a vector also that comparing it would not raise."""

    attribute: Attribute
    states: int

    def constrain(self, slots: Slots) -> Batch:
        type_, n = self.attribute.type, slots.count
        if type_.is_vector:
            return Balls.of([(self.states, ())] * n, type_.length)
        if type_.is_tags:
            return Tags.of([Rule(self.states & (State.NULL | State.VALUE))] * n)
        free = Scalars.everything(domain(type_), n)
        if self.states & State.VALUE:
            return replace(free, nulls=np.full(n, bool(self.states & State.NULL)))
        return Scalars.of(free.domain, free.upper, free.lower, True)


@dataclass(frozen=True, slots=True)
class Truth:
    """A boolean attribute is true (1) or false (0)."""

    attribute: Attribute
    value: int

    def constrain(self, slots: Slots) -> Batch:
        ends = np.full(slots.count, self.value, np.int64)
        return Scalars.of(domain(self.attribute.type), ends, ends)


@dataclass(frozen=True, slots=True)
class Compare:
    """`attribute op literal`, op one of lt, le, gt, ge; `common` is the type of an `IN` list."""

    attribute: Attribute
    op: str
    ref: Ref
    common: Type | None = None

    def opposite(self) -> Compare:
        return replace(self, op=_OPPOSITE[self.op])

    def constrain(self, slots: Slots) -> Batch:
        whole = domain(self.attribute.type)
        at = slots.positions(self.ref, self.attribute.type, self.op, self.common)
        lower, upper = _interval(whole, at, self.op)
        nulls = at.outcome == ALWAYS
        lower[nulls], upper[nulls] = whole.low, whole.high
        nothing = (at.outcome == NULL) | (at.outcome == NEVER)
        lower[nothing], upper[nothing] = whole.high, whole.low
        return _scalars(whole, lower, upper, nulls)


@dataclass(frozen=True, slots=True)
class Member:
    """The attribute is one of some literals (or, with `when` false, certainly none of them).

    With `null_safe` it is `<=>`; `common` is the type that an `IN` list is compared in.
    """

    attribute: Attribute
    refs: tuple[Ref, ...]
    when: bool = True
    null_safe: bool = False
    has_null: bool = False
    common: Type | None = None
    is_lossy: bool = False

    def constrain(self, slots: Slots) -> Batch:
        if len(self.refs) == 1 and self.refs[0].is_list:
            return self._once_each(slots)
        return self._constrain(slots)

    def _once_each(self, slots: Slots) -> Batch:
        """The constraints of lists, of which many predicates have the same."""
        column = slots.columns[self.refs[0].slot]
        numbers = {raw: i for i, raw in enumerate(dict.fromkeys(column))}
        of = np.fromiter((numbers[raw] for raw in column), np.int64, len(column))
        distinct = replace(slots, columns=[list(numbers)], count=len(numbers), failures={})
        batch = replace(self, refs=(Ref(0, WHOLE),))._constrain(distinct)
        for i in np.flatnonzero(np.isin(of, list(distinct.failures))).tolist():
            failure = distinct.failures[int(of[i])]
            slots.failures.setdefault(i, Located(str(failure), self.refs[0].slot))
        return batch.take(of)

    def _constrain(self, slots: Slots) -> Scalars:
        whole = domain(self.attribute.type)
        n = slots.count
        if len(self.refs) == 1 and not self.refs[0].is_list and self.when:
            at = slots.positions(self.refs[0], self.attribute.type, "=", self.common)
            lower, upper = _interval(whole, at, "=")
            nothing = at.outcome != OK
            lower[nothing], upper[nothing] = whole.high, whole.low
            nulls = nothing if self.null_safe else np.zeros(n, np.bool_)
            return _scalars(whole, lower, upper, nulls)
        lists, nullish = self._keys(slots)
        free = Scalars.everything(whole, n)
        listed = np.full(n, ONLY if self.when else EXCEPT, np.int8)
        if not self.when and not self.null_safe:
            empty = nullish | self.has_null
            free.lower[empty], free.upper[empty] = whole.high, whole.low
        nulls = np.full(n, self.null_safe and not self.when) & ~nullish
        return Scalars.of(
            whole, free.lower, free.upper, nulls, listed, Ragged.of(lists, whole.dtype)
        )

    def _keys(self, slots: Slots) -> tuple[list[set[Any]], NDArray[np.bool_]]:
        """The keys equal to a literal of each predicate, and where some literal is null."""
        keys: list[set[Any]] = [set() for _ in range(slots.count)]
        nullish = np.zeros(slots.count, np.bool_)
        for ref in self.refs:
            row_of = np.arange(slots.count)
            source, one = slots, ref
            if ref.is_list:
                lengths, source = slots.lists(ref.slot)
                row_of, one = np.repeat(row_of, lengths), Ref(0)
            at = source.positions(one, self.attribute.type, "=", self.common)
            for k, failure in source.failures.items():
                slots.failures.setdefault(int(row_of[k]), Located(str(failure), ref.slot))
            nullish[row_of[at.outcome == NULL]] = True
            for k in np.flatnonzero(at.outcome == OK).tolist():
                keys[row_of[k]] |= self._equal(
                    at.at_least[k], at.above[k], slots, int(row_of[k]), ref
                )
        return keys, nullish

    def _equal(self, at_least: Any, above: Any, slots: Slots, row: int, ref: Ref) -> set[Any]:
        if isinstance(at_least, str):
            return {at_least}
        if above - at_least > _MOST_EQUAL:
            slots.failures.setdefault(
                row,
                Located(
                    "so many values equal this after Spark's cast that they cannot be listed",
                    ref.slot,
                ),
            )
            return set()
        return set(range(int(at_least), int(above)))


@dataclass(frozen=True, slots=True)
class Prefix:
    """The text starts with a literal; `part` inside, or below or above all such texts."""

    attribute: Attribute
    ref: Ref
    part: str = "inside"

    def constrain(self, slots: Slots) -> Batch:
        whole = domain(self.attribute.type)
        lower, upper = np.empty(slots.count, object), np.empty(slots.count, object)
        for i, pattern in enumerate(slots.texts(self.ref)):
            lower[i], upper[i] = _prefixed(pattern.removesuffix("%"), self.part)
        return Scalars.of(whole, lower, upper)


def _prefixed(start: str, part: str) -> tuple[Any, Any]:
    last = _last_with(start)
    if part == "below":
        return "", before(start)
    if part == "above":
        return (last.text, TOP) if last.text is not None else ("\0", "")
    return start, last


def _last_with(start: str) -> Below:
    """The end of all texts with this start: before the next start that sorts after them."""
    stem = start.rstrip("\U0010ffff")
    if not stem:
        return TOP
    code = ord(stem[-1]) + 1
    return Below(stem[:-1] + chr(0xE000 if code == 0xD800 else code))


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tags have a token of every group in `required` and none of `forbidden`.

    `forbidden` holds what a false condition forbids: the tags then have no null element either.
    `hollow`: they have no element at all.
    """

    attribute: Attribute
    required: tuple[tuple[Ref, ...], ...] = ()
    forbidden: tuple[Ref, ...] = ()
    whole: bool = False
    hollow: bool = False

    def and_also(self, other: Tokens) -> Tokens:
        return Tokens(
            self.attribute,
            self.required + other.required,
            self.forbidden + other.forbidden,
            self.whole or other.whole,
            self.hollow or other.hollow,
        )

    def constrain(self, slots: Slots) -> Batch:
        columns = [[self._tokens(slots, ref) for ref in group] for group in self.required]
        barred = [self._tokens(slots, ref) for ref in self.forbidden]
        simple = not barred and not self.hollow and all(len(group) == 1 for group in columns)
        if simple and all(len(t) == 1 for (group,) in columns for t in group):
            tags = self._columnwise([[t[0] for t in group] for (group,) in columns], slots.count)
            if tags is not None:
                return tags
        return Tags.of(
            [
                Rule(
                    State.VALUE,
                    frozenset(frozenset(t for one in group for t in one[i]) for group in columns),
                    frozenset(t for one in barred for t in one[i]),
                    self.whole,
                    frozenset() if self.hollow else None,
                ).tidy()
                for i in range(slots.count)
            ]
        )

    def _tokens(self, slots: Slots, ref: Ref) -> list[list[str]]:
        """The tokens that a literal names in every predicate: one, or those of a list."""
        if not ref.is_list:
            return [[text] for text in slots.texts(ref)]
        lengths, flat = slots.lists(ref.slot)
        texts = Ragged.from_lengths(lengths, np.array(flat.texts(Ref(0)), object))
        return [texts.row(i).tolist() for i in range(slots.count)]

    def _columnwise(self, columns: list[list[str]], n: int) -> Tags | None:
        """Single required tokens as columns, unless one is asked for twice."""
        groups = len(columns)
        tokens = np.empty((n, groups), object)
        for k, column in enumerate(columns):
            tokens[:, k] = column
        if any((tokens[:, a] == tokens[:, b]).any() for a in range(groups) for b in range(a)):
            return None
        counted = Ragged.from_lengths(np.full(n, groups), np.arange(n * groups))
        each = Ragged.from_lengths(np.ones(n * groups, np.int64), tokens.ravel())
        no = np.zeros(n, np.bool_)
        none = Ragged.empty(n)
        states = np.full(n, State.VALUE, np.uint8)
        return Tags(states, counted, each, none, np.full(n, self.whole), no, none)


@dataclass(frozen=True, slots=True)
class InBall:
    """`score(attribute, centre) op literal`, op one of lt, le, gt, ge, =."""

    attribute: Attribute
    metric: Metric
    centre: Ref
    op: str
    ref: Ref

    def opposite(self) -> InBall:
        return replace(self, op=_OPPOSITE[self.op])

    def constrain(self, slots: Slots) -> Batch:
        n, length = slots.count, self.attribute.type.length
        whole = domain(FLOAT)
        at = slots.positions(self.ref, FLOAT, self.op)
        lower, upper = (keys.astype(np.int64) for keys in _interval(whole, at, self.op))
        matrix = np.zeros((n, length), np.float32)
        for i, raw in enumerate(slots.columns[self.centre.slot]):
            try:
                matrix[i] = centres(raw, length, self.centre.cast is not None, slots.settings.ansi)
            except LiteralError as error:
                slots.failures.setdefault(i, Located(str(error), self.centre.slot))
        if self.metric is Metric.L2:
            lower = np.maximum(lower, 0)
        nothing = (at.outcome != OK) | (lower > upper)
        free = (lower == 0) & (upper == whole.high) & (self.metric is Metric.L2)
        kept = ~nothing & ~free
        count = int(kept.sum())
        return Balls(
            np.where(nothing, 0, State.VALUE).astype(np.uint8),
            Ragged.from_lengths(kept.astype(np.int64), np.arange(count)),
            np.full(count, self.metric, np.uint8),
            matrix[kept],
            lower[kept],
            upper[kept],
            np.zeros(count, np.bool_),
        )


Atom = Nullness | Truth | Compare | Member | Prefix | Tokens | InBall
Conjunction = tuple[Atom, ...]
Union = list[Conjunction]


def joined(atoms: Sequence[Atom], slots: Slots) -> Batch:
    """The constraints of n predicates on one attribute: all of these atoms hold."""
    tokens = [atom for atom in atoms if isinstance(atom, Tokens)]
    merged: list[Atom] = [atom for atom in atoms if not isinstance(atom, Tokens)]
    if tokens:
        merged.append(reduce(Tokens.and_also, tokens))
    batches: list[Any] = [atom.constrain(slots) for atom in merged]
    return reduce(lambda a, b: a.intersect(b), batches)  # type: ignore[no-any-return]


def _scalars(whole: Domain, lower: Keys, upper: Keys, nulls: NDArray[np.bool_]) -> Scalars:
    """Constraints from ends that may lie one beyond the keys, where the interval is empty."""
    empty = np.asarray(lower > upper, np.bool_)
    lower[empty], upper[empty] = whole.high, whole.low
    return Scalars.of(whole, lower.astype(whole.dtype), upper.astype(whole.dtype), nulls)


def _interval(whole: Domain, at: Positions, op: str) -> tuple[Keys, Keys]:
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
            ends[:] = [before(text) for text in ends.tolist()]
        return (at.at_least.copy() if op == "=" else low), ends
    return (at.at_least.copy() if op == "=" else low), last - 1
