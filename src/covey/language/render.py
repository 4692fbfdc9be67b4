"""Regions back to predicates.

What is written is read back to regions that contain the same events. A constraint that only
relations between regions make (a hull, an event as a region) may need a derived attribute.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from covey.errors import ValueRefused
from covey.geometry import Regions
from covey.geometry.balls import Ball, Balls
from covey.geometry.distances import Metric
from covey.geometry.scalars import EXCEPT, ONLY, Scalars
from covey.geometry.tags import Rule, Tags
from covey.language.spell import literal, quote, single
from covey.quoting import quoted
from covey.space.events import State
from covey.space.keys import domain, value
from covey.space.space import Attribute
from covey.space.text import TOP, Below
from covey.space.types import FLOAT, Type

__all__ = ["render"]


def render(regions: Regions, row: int) -> str:
    """The predicate of one region.

    Cost: microseconds; meant for people and for tests.

    >>> import pyarrow as pa
    >>> from covey import Space, parse
    >>> space = Space.of({"price": pa.float64(), "city": pa.string()})
    >>> print(render(parse(space, ["city = 'Rome' AND price < 5 AND price >= 1"]).regions, 0))
    city = 'Rome' AND price BETWEEN 1.0D AND 4.999999999999999D
    """
    if not 0 <= row < len(regions):
        raise ValueRefused(f"no region {row}: there are {len(regions)}")
    parts: list[str] = []
    for name, given in regions.constraints.items():
        places, there = given.find(np.array([row], np.int64))
        if there[0]:
            parts += _constraint(regions.space[name], given.batch, int(places[0]))
    return " AND ".join(parts) or "true"


def _constraint(attribute: Attribute, batch: Scalars | Tags | Balls, i: int) -> list[str]:
    name = f"({attribute.name})" if attribute.is_derived else quoted(attribute.name)
    if isinstance(batch, Scalars):
        return _scalar(name, attribute.type, batch, i)
    if isinstance(batch, Tags):
        return _tags(name, batch.row(i))
    return _balls(name, attribute.type, *batch.row(i))


def _scalar(name: str, type_: Type, batch: Scalars, i: int) -> list[str]:
    lower, upper, listed, keys = batch.row(i)
    if lower > upper:
        return [f"{name} IS NULL"]
    if listed == ONLY:
        parts = [_among(name, type_, keys, True)]
    else:
        parts = _interval(name, type_, lower, upper)
        if listed == EXCEPT:
            parts.append(_among(name, type_, keys, False))
    if not batch.nulls[i]:
        return parts or [f"{name} IS NOT NULL"]
    return [f"({name} IS NULL OR {' AND '.join(parts)})"] if parts else []


def _among(name: str, type_: Type, keys: list[Any], inside: bool) -> str:
    words = [literal(key, type_) for key in keys]
    if type_.is_fractional and any(word[0] == "'" for word in words):
        # A name of a number in a list may turn all of it into text.
        op, link = ("=", " OR ") if inside else ("<>", " AND ")
        return "(" + link.join(f"{name} {op} {word}" for word in words) + ")"
    return f"{name} {'IN' if inside else 'NOT IN'} ({', '.join(words)})"


def _interval(name: str, type_: Type, lower: Any, upper: Any) -> list[str]:
    whole = domain(type_)
    if lower == upper:
        return [f"{name} = {literal(lower, type_)}"]
    parts = [f"{name} >= {literal(lower, type_)}"] if lower != whole.low else []
    if isinstance(upper, Below):
        return parts + ([f"{name} < {literal(upper.text, type_)}"] if upper != TOP else [])
    if upper != whole.high:
        if parts:
            return [f"{name} BETWEEN {literal(lower, type_)} AND {literal(upper, type_)}"]
        parts.append(f"{name} <= {literal(upper, type_)}")
    return parts


def _tags(name: str, rule: Rule) -> list[str]:
    if not rule.states & State.VALUE:
        return [f"{name} IS NULL"]
    parts = []
    for group in sorted(map(sorted, rule.groups)):
        if len(group) == 1:
            parts.append(f"array_contains({name}, {quote(group[0])})")
        else:
            parts.append(f"arrays_overlap({name}, array({', '.join(map(quote, group))}))")
    for token in sorted(rule.forbidden):
        has = f"array_contains({name}, {quote(token)})"
        parts.append(f"NOT {has}" if rule.whole else f"NOT ({has} <=> true)")
    if rule.whole and not rule.forbidden:
        parts.append(f"size({name}) = size(array_compact({name}))")
    if rule.only is not None:
        tokens = ", ".join(map(quote, sorted(rule.only)))
        rest = (
            f"array_except(array_compact({name}), array({tokens}))"
            if tokens
            else f"array_compact({name})"
        )
        parts.append(f"size({rest}) = 0")
    if not rule.states & State.NULL:
        needs_value = not rule.groups and not (rule.forbidden and rule.whole)
        return [f"{name} IS NOT NULL", *parts] if needs_value else parts
    return [f"({name} IS NULL OR {' AND '.join(parts)})"] if parts else []


def _balls(name: str, type_: Type, states: int, balls: list[Ball]) -> list[str]:
    origin = Ball(Metric.L2, (0.0,) * type_.length, 0, domain(FLOAT).high)
    inside = " AND ".join(_ball(name, ball) for ball in balls or [origin])
    alternatives = []
    if states & State.NULL:
        alternatives.append(f"{name} IS NULL")
    if not balls and states & State.VALUE and states & State.HOLED:
        alternatives.append(
            f"{name} IS NOT NULL" if states & State.MALFORMED else f"size({name}) = {type_.length}"
        )
    elif states & State.VALUE:
        alternatives.append(inside)
    return [f"({' OR '.join(alternatives)})"] if len(alternatives) > 1 else alternatives


def _ball(name: str, ball: Ball) -> str:
    function = "vector_l2_distance" if ball.metric is Metric.L2 else "vector_cosine_similarity"
    score = f"{function}({name}, array({', '.join(map(single, ball.centre))}))"
    lower, upper = single(value(ball.lower, FLOAT)), single(value(ball.upper, FLOAT))
    least = 0 if ball.metric is Metric.L2 else domain(FLOAT).low
    parts = [f"{score} >= {lower}"] if ball.lower > least else []
    if ball.upper < domain(FLOAT).high:
        parts.append(f"{score} <= {upper}")
    return (
        " AND ".join(parts)
        or f"{score} >= {'0F' if ball.metric is Metric.L2 else single(-math.inf)}"
    )
