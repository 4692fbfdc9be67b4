"""Matching, covering and overlapping by loops over rows: the oracle for `BruteForceIndex`.

Nothing of `covey.geometry.relations` or of the relations of batches is used: rows are read one by
one, and relations of scalars and tags are decided by trying every value that can make a difference.
For balls, whose relations are approximate by design, the relation of two single balls is trusted. A
region admits a product of non-empty sets: one region covers another if it does so on every
attribute, and two regions overlap if they do so on every attribute.
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


def matches(stored: Regions, r: int, drawn_events: Events, e: int) -> bool:
    """Return True if region r contains event e."""
    return all(
        _admits(constraint, _cell(drawn_events, name, e)) for name, constraint in _row(stored, r)
    )


def covers(outer: Regions, i: int, inner: Regions, j: int) -> bool:
    """Return True if `inner` admits no value that `outer` does not admit."""
    inner_constraints = dict(_row(inner, j))
    return all(
        _covers(outer, name, constraint, inner_constraints[name])
        for name, constraint in _row(outer, i)
    )


def overlaps(a: Regions, i: int, b: Regions, j: int) -> bool:
    """Return True if both regions admit a common value."""
    inner_constraints = dict(_row(b, j))
    return all(
        _overlaps(a, name, constraint, inner_constraints[name]) for name, constraint in _row(a, i)
    )


def _row(stored: Regions, r: int) -> Iterator[tuple[str, Any]]:
    """Iterate over the constraints of one region, including unconstrained attributes."""
    for attribute in stored.space:
        batch, position = build_unconstrained_batch(attribute.type, 1), 0
        if attribute.name in stored.constraints:
            column_constraints = stored.constraints[attribute.name]
            if r in column_constraints.rows.tolist():
                batch, position = (
                    column_constraints.batch,
                    column_constraints.rows.tolist().index(r),
                )
        if isinstance(batch, Scalars):
            yield attribute.name, (bool(batch.nulls[position]), batch.row(position))
        elif isinstance(batch, Tags | Balls):
            yield attribute.name, batch.row(position)


def _cell(drawn_events: Events, name: str, e: int) -> Any:
    """Return the value of one event: a key, a list or None; for a vector (state, numbers)."""
    column = drawn_events[name]
    if isinstance(column, ScalarColumn):
        return column.keys[e] if column.valid[e] else None
    if isinstance(column, TagColumn):
        return column.tokens.row(e).tolist() if column.valid[e] else None
    return ValueState(int(column.states[e])), column.matrix[e].tolist()


def _admits(constraint: Any, cell: Any) -> bool:
    if isinstance(constraint, TagRule):
        return _admits_list(constraint, cell)
    if isinstance(cell, tuple):
        states, balls = constraint
        state, vector = cell
        return bool(states & state) and (
            state != ValueState.VALUE or all(_in_ball(ball, vector) for ball in balls)
        )
    nulls, (lower, upper, listed, keys) = constraint
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
    score = plain_score(ball.metric, vector, list(ball.centre))
    return score is not None and ball.lower <= int(encode_floats(score.reshape(1))[0]) <= ball.upper


def _values(stored: Regions, name: str, a: Any, b: Any) -> list[Any]:
    if isinstance(a, TagRule):
        return LISTS
    return [*keys_of_interest(key_domain(stored.space[name].type), a[1], b[1]), None]


def _covers(stored: Regions, name: str, outer: Any, inner: Any) -> bool:
    if stored.space[name].type.is_vector:
        has_vectors = inner[0] & ValueState.VALUE
        return not inner[0] & ~outer[0] and (
            not has_vectors or all(any(a.covers(b) for b in inner[1]) for a in outer[1])
        )
    values = _values(stored, name, outer, inner)
    return all(_admits(outer, value) for value in values if _admits(inner, value))


def _overlaps(stored: Regions, name: str, a: Any, b: Any) -> bool:
    if stored.space[name].type.is_vector:
        common = a[0] & b[0]
        meet = all(one.overlaps(other) for one in a[1] for other in b[1])
        return bool(common & ~ValueState.VALUE) or bool(common & ValueState.VALUE and meet)
    values = _values(stored, name, a, b)
    return any(_admits(a, value) and _admits(b, value) for value in values)
