"""Renderer of regions as predicates.

If the rendered predicate is parsed, its regions contain the same events. To express a constraint
that does not come from a predicate, such as a constraint of a hull, the rendered predicate may need
a derived attribute.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from covey._argument_checks import check_arguments
from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.geometry.balls import Ball, Balls
from covey.geometry.distances import Metric
from covey.geometry.scalars import EXCEPT, ONLY, Scalars
from covey.geometry.tags import TagRule, Tags
from covey.language.late_conditions import LateCondition
from covey.language.values.sql_literals import float32_literal, key_literal, quote_string
from covey.space.events import ValueState
from covey.space.guard import find_checked_expression
from covey.space.keys import decode_key, key_domain
from covey.space.space import LATE, Attribute
from covey.space.text_bounds import TOP, Below
from covey.space.types import DOUBLE, FLOAT, Type
from covey.sql_names import quote_identifier

__all__ = ["render"]


@check_arguments
def render(regions: Regions, row: int) -> str:
    """Return the predicate of one region.

    Args:
        regions: a batch of regions.
        row: the row of the region in the batch.

    Raises:
        InvalidArgumentError: the batch has no such row.

    Cost: microseconds.

    >>> import pyarrow as pa
    >>> from covey import Space, parse
    >>> space = Space.from_types({"price": pa.float64(), "city": pa.string()})
    >>> print(render(parse(space, ["city = 'Rome' AND price < 5 AND price >= 1"]).regions, 0))
    city = 'Rome' AND price >= 1.0D AND price < 5.0D
    """
    if not 0 <= row < len(regions):
        raise InvalidArgumentError(
            f"row must be at least 0 and less than {len(regions)}, the number of regions; got {row}"
        )
    parts: list[str] = []
    for name, constraints in regions.constraints.items():
        positions, is_present = constraints.locate_rows(np.array([row], np.int64))
        if is_present[0]:
            batch, i = constraints.batch, int(positions[0])
            parts += _render_constraint(regions.space[name], batch, i)
    return " AND ".join(parts) or "true"


def _render_constraint(attribute: Attribute, batch: Scalars | Tags | Balls, i: int) -> list[str]:
    """Return the conditions of constraint `i` of a batch, to be joined with AND."""
    if attribute.is_flag:
        return [_render_condition(attribute.name)]
    name = f"({attribute.name})" if attribute.is_derived else quote_identifier(attribute.name)
    if isinstance(batch, Scalars):
        return _render_scalar(name, attribute.type, batch, i)
    if isinstance(batch, Tags) and attribute.name == LATE:
        return _render_late_conditions(batch.row(i))
    if isinstance(batch, Tags):
        return _render_tags(name, batch.row(i))
    return _render_balls(name, attribute.type, *batch.row(i))


def _render_scalar(name: str, type_: Type, batch: Scalars, i: int) -> list[str]:
    """Return the conditions of a scalar constraint: interval, list and null."""
    lower, upper, listed, keys = batch.row(i)
    if lower > upper:
        return [f"{name} IS NULL"]
    if listed == ONLY:
        parts = [_render_key_list(name, type_, keys, True)]
    else:
        parts = _render_interval(name, type_, lower, upper)
        if listed == EXCEPT:
            parts.append(_render_key_list(name, type_, keys, False))
    if not batch.nulls[i]:
        return parts or [f"{name} IS NOT NULL"]
    return [f"({name} IS NULL OR {' AND '.join(parts)})"] if parts else []


def _render_key_list(name: str, type_: Type, keys: list[Any], inside: bool) -> str:
    """Return the condition that the value is one of the keys; if not `inside`, none of them."""
    literals = [key_literal(key, type_) for key in keys]
    if type_.is_fractional and any(literal[0] == "'" for literal in literals):
        # 'NaN' or 'Infinity' in an IN list may make Spark compare the whole list as texts.
        op, link = ("=", " OR ") if inside else ("<>", " AND ")
        return "(" + link.join(f"{name} {op} {literal}" for literal in literals) + ")"
    return f"{name} {'IN' if inside else 'NOT IN'} ({', '.join(literals)})"


def _render_interval(name: str, type_: Type, lower: Any, upper: Any) -> list[str]:
    """Return the conditions of an interval of keys; an unbounded interval has none."""
    domain = key_domain(type_)
    if lower == upper:
        return [f"{name} = {key_literal(lower, type_)}"]
    above = below = None
    if type_ in (DOUBLE, FLOAT):
        above = _find_shorter_bound(lower, lower - 1, type_) if lower != domain.low else None
        below = _find_shorter_bound(upper, upper + 1, type_) if upper != domain.high else None
    if above is not None or below is not None:
        low = f"> {above}" if above is not None else f">= {key_literal(lower, type_)}"
        high = f"< {below}" if below is not None else f"<= {key_literal(upper, type_)}"
        low_part = [f"{name} {low}"] if lower != domain.low else []
        return low_part + ([f"{name} {high}"] if upper != domain.high else [])
    parts = [f"{name} >= {key_literal(lower, type_)}"] if lower != domain.low else []
    if isinstance(upper, Below):
        return parts + ([f"{name} < {key_literal(upper.text, type_)}"] if upper != TOP else [])
    if upper != domain.high:
        if parts:
            return [f"{name} BETWEEN {key_literal(lower, type_)} AND {key_literal(upper, type_)}"]
        parts.append(f"{name} <= {key_literal(upper, type_)}")
    return parts


def _find_shorter_bound(key: int, beyond: int, type_: Type) -> str | None:
    """Return the literal of the key `beyond` if it is shorter than the literal of `key`, or None.

    `beyond` is the key next to `key`, outside of the interval. For example, the region of
    `price < 5` is rendered as `price < 5.0D` and not as `price <= 4.999999999999999D`, which
    matches the same events.
    """
    domain = key_domain(type_)
    if not domain.low < beyond < domain.high:
        return None
    value = decode_key(beyond, type_)
    literal = key_literal(beyond, type_)
    is_plain = isinstance(value, float) and math.isfinite(value) and literal[0] != "'"
    return literal if is_plain and len(literal) < len(key_literal(key, type_)) else None


def _render_late_conditions(rule: TagRule) -> list[str]:
    """Return the late conditions of a rule."""
    parts = []
    for group in sorted(map(sorted, rule.groups)):
        alternatives = [_render_condition(LateCondition.from_token(token).sql) for token in group]
        parts.append(alternatives[0] if len(group) == 1 else f"({' OR '.join(alternatives)})")
    return parts


def _render_condition(sql: str) -> str:
    """Return a condition that Spark computes, in the language of predicates.

    A check whether an expression raises an exception is not part of the language. It becomes a
    condition that is true unless the expression raises one.
    """
    checked = find_checked_expression(sql)
    return sql if checked is None else f"(({checked}) IS NULL OR ({checked}) IS NOT NULL)"


def _render_tags(name: str, rule: TagRule) -> list[str]:
    """Return the conditions of a rule for tags."""
    if not rule.states & ValueState.VALUE:
        return [f"{name} IS NULL"]
    parts = []
    for group in sorted(map(sorted, rule.groups)):
        if len(group) == 1:
            parts.append(f"array_contains({name}, {quote_string(group[0])})")
        else:
            parts.append(f"arrays_overlap({name}, array({', '.join(map(quote_string, group))}))")
    for token in sorted(rule.forbidden):
        has = f"array_contains({name}, {quote_string(token)})"
        parts.append(f"NOT {has}" if rule.whole else f"NOT ({has} <=> true)")
    if rule.whole and not rule.forbidden:
        parts.append(f"size({name}) = size(array_compact({name}))")
    if rule.only is not None:
        tokens = ", ".join(map(quote_string, sorted(rule.only)))
        other_tokens = (
            f"array_except(array_compact({name}), array({tokens}))"
            if tokens
            else f"array_compact({name})"
        )
        parts.append(f"size({other_tokens}) = 0")
    if not rule.states & ValueState.NULL:
        needs_value = not rule.groups and not (rule.forbidden and rule.whole)
        return [f"{name} IS NOT NULL", *parts] if needs_value else parts
    return [f"({name} IS NULL OR {' AND '.join(parts)})"] if parts else []


def _render_balls(name: str, type_: Type, states: int, balls: list[Ball]) -> list[str]:
    """Return the conditions of a vector constraint: its admitted states and its balls."""
    origin = Ball(Metric.L2, (0.0,) * type_.length, 0, key_domain(FLOAT).high)
    ball_conditions = " AND ".join(_render_ball(name, ball) for ball in balls or [origin])
    alternatives = []
    if states & ValueState.NULL:
        alternatives.append(f"{name} IS NULL")
    if not balls and states & ValueState.VALUE and states & ValueState.NULL_ELEMENTS:
        alternatives.append(
            f"{name} IS NOT NULL"
            if states & ValueState.MALFORMED
            else f"size({name}) = {type_.length}"
        )
    elif states & ValueState.VALUE:
        alternatives.append(ball_conditions)
    return [f"({' OR '.join(alternatives)})"] if len(alternatives) > 1 else alternatives


def _render_ball(name: str, ball: Ball) -> str:
    """Return the condition that a vector lies in a ball."""
    function = "vector_l2_distance" if ball.metric is Metric.L2 else "vector_cosine_similarity"
    score = f"{function}({name}, array({', '.join(map(float32_literal, ball.centre))}))"
    lower, upper = (
        float32_literal(decode_key(ball.lower, FLOAT)),
        float32_literal(decode_key(ball.upper, FLOAT)),
    )
    min_key = 0 if ball.metric is Metric.L2 else key_domain(FLOAT).low
    parts = [f"{score} >= {lower}"] if ball.lower > min_key else []
    if ball.upper < key_domain(FLOAT).high:
        parts.append(f"{score} <= {upper}")
    return (
        " AND ".join(parts)
        or f"{score} >= {'0F' if ball.metric is Metric.L2 else float32_literal(-math.inf)}"
    )
