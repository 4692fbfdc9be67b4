"""Matching, covering and overlapping by loops over rows: what `BruteForceIndex` is held to.

Nothing of `covey.geometry.relations` or of the batches' own relations is used: rows are read one by
one, scalars and tags are decided by trying every value that can make a difference. Of balls, whose
relations are approximate by design, the relation of two single balls is taken as given.

A region admits a product of sets, none of them empty: so one covers another if it does on every
attribute, and they overlap if they do on every attribute.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from covey.geometry import Regions
from covey.geometry.balls import Ball, Balls
from covey.geometry.regions import build_unconstrained_batch
from covey.geometry.scalars import ALL, ONLY, Scalars
from covey.geometry.tags import TagRule, Tags
from covey.space import Events
from covey.space.events import ScalarColumn, TagColumn, ValueState
from covey.space.keys import encode_floats, key_domain
from tests.geometry.plain import plain_score
from tests.geometry.witnesses import keys_of_interest, lists_of_interest

LISTS = [*lists_of_interest(), None]


def matches(some: Regions, r: int, these: Events, e: int) -> bool:
    """Whether region r contains event e."""
    return all(_admits(one, _cell(these, name, e)) for name, one in _row(some, r))


def covers(outer: Regions, i: int, inner: Regions, j: int) -> bool:
    """Whether no value is admitted by `inner` alone."""
    there = dict(_row(inner, j))
    return all(_covers(outer, name, one, there[name]) for name, one in _row(outer, i))


def overlaps(a: Regions, i: int, b: Regions, j: int) -> bool:
    """Whether some value is admitted by both."""
    there = dict(_row(b, j))
    return all(_overlaps(a, name, one, there[name]) for name, one in _row(a, i))


def _row(some: Regions, r: int) -> Iterator[tuple[str, Any]]:
    """The constraints of one region, free attributes included, in plain Python."""
    for attribute in some.space:
        batch, place = build_unconstrained_batch(attribute.type, 1), 0
        if attribute.name in some.constraints:
            given = some.constraints[attribute.name]
            if r in given.rows.tolist():
                batch, place = given.batch, given.rows.tolist().index(r)
        if isinstance(batch, Scalars):
            yield attribute.name, (bool(batch.nulls[place]), batch.row(place))
        elif isinstance(batch, Tags | Balls):
            yield attribute.name, batch.row(place)


def _cell(these: Events, name: str, e: int) -> Any:
    """What one event holds: a key, a list or None; a vector as (state, numbers)."""
    column = these[name]
    if isinstance(column, ScalarColumn):
        return column.keys[e] if column.valid[e] else None
    if isinstance(column, TagColumn):
        return column.tokens.row(e).tolist() if column.valid[e] else None
    return ValueState(int(column.states[e])), column.matrix[e].tolist()


def _admits(one: Any, cell: Any) -> bool:
    if isinstance(one, TagRule):
        return _admits_list(one, cell)
    if isinstance(cell, tuple):
        states, balls = one
        state, vector = cell
        return bool(states & state) and (
            state != ValueState.VALUE or all(_in_ball(ball, vector) for ball in balls)
        )
    nulls, (lower, upper, listed, keys) = one
    if cell is None:
        return bool(nulls)
    inside = lower <= cell <= upper
    return bool(inside and (listed == ALL or (cell in keys) == (listed == ONLY)))


def _admits_list(rule: TagRule, tokens: list[str | None] | None) -> bool:
    if tokens is None:
        return bool(rule.states & ValueState.NULL)
    return (
        bool(rule.states & ValueState.VALUE)
        and all(any(token in group for token in tokens) for group in rule.groups)
        and not any(token in rule.forbidden for token in tokens)
        and not (rule.whole and None in tokens)
        and (rule.only is None or all(t is None or t in rule.only for t in tokens))
    )


def _in_ball(ball: Ball, vector: list[float]) -> bool:
    found = plain_score(ball.metric, vector, list(ball.centre))
    return found is not None and ball.lower <= int(encode_floats(found.reshape(1))[0]) <= ball.upper


def _values(some: Regions, name: str, a: Any, b: Any) -> list[Any]:
    if isinstance(a, TagRule):
        return LISTS
    return [*keys_of_interest(key_domain(some.space[name].type), a[1], b[1]), None]


def _covers(some: Regions, name: str, outer: Any, inner: Any) -> bool:
    if some.space[name].type.is_vector:
        has_vectors = inner[0] & ValueState.VALUE
        return not inner[0] & ~outer[0] and (
            not has_vectors or all(any(a.covers(b) for b in inner[1]) for a in outer[1])
        )
    values = _values(some, name, outer, inner)
    return all(_admits(outer, value) for value in values if _admits(inner, value))


def _overlaps(some: Regions, name: str, a: Any, b: Any) -> bool:
    if some.space[name].type.is_vector:
        common = a[0] & b[0]
        meet = all(one.overlaps(other) for one in a[1] for other in b[1])
        return bool(common & ~ValueState.VALUE) or bool(common & ValueState.VALUE and meet)
    values = _values(some, name, a, b)
    return any(_admits(a, value) and _admits(b, value) for value in values)
