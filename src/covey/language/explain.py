"""Why a predicate matches an event, or why not: condition by condition, with the values.

A condition of three-valued logic may also be unknown, because a value is null: the most common
reason for an alert that did not fire.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from covey.errors import SpaceError
from covey.geometry.relations import contains
from covey.language.canonical import text as canonical
from covey.language.expressions import Expressions
from covey.language.grammar import parse_tree
from covey.language.nodes import bare, chain, unwrapped
from covey.language.parse import Parser, parse
from covey.space import Attribute, Events, Space
from covey.space.events import State, VectorColumn
from covey.space.types import TIMESTAMP, to_arrow

__all__ = ["Explanation", "explain"]

_WORDS = {True: "yes", False: "no", None: "unknown"}


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of a condition on one event: held, failed, or unknown (`None`).

    `values` are the event's values that it reads; `parts` the conditions it is made of.
    """

    text: str
    holds: bool | None
    values: Mapping[str, Any]
    parts: tuple[Explanation, ...] = ()
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON but for the values."""
        return {
            "text": self.text,
            "holds": self.holds,
            "values": dict(self.values),
            "note": self.note,
            "parts": [part.as_dict() for part in self.parts],
        }

    def __str__(self) -> str:
        return "\n".join(self._lines(0))

    def _lines(self, depth: int) -> Iterator[str]:
        shown = ", ".join(f"{name} is {_shown(value)}" for name, value in self.values.items())
        because = f"    ({shown}{'; ' if shown and self.note else ''}{self.note})"
        detail = because if not self.parts and (shown or self.note) else ""
        yield f"{'  ' * depth}{_WORDS[self.holds]}: {self.text}{detail}"
        for part in self.parts:
            yield from part._lines(depth + 1)


def explain(space: Space, text: str, event: Mapping[str, Any]) -> Explanation:
    """Which conditions of a predicate hold on an event, and which do not.

    The event is a row as a mapping; derived attributes are expected in it under their text. The
    whole holds exactly when the predicate matches.

    Cost: a parse and an evaluation of every condition; milliseconds. For people, not for batches.

    >>> space = Space.of({"price": pa.float64(), "city": pa.string()})
    >>> print(explain(space, "price > 100 AND city = 'Rome'", {"price": 120.5, "city": None}))
    unknown: price > 100 AND city = 'Rome'
      yes: price > 100    (price is 120.5)
      unknown: city = 'Rome'    (city is null)
    """
    parse(space, [text])
    _check_keys(event, space)
    tree = parse_tree(text, space.limits)
    return _Explainer(space, Expressions(tree, space), event).explain(tree.root, text.strip())


class _Explainer:
    def __init__(self, space: Space, expressions: Expressions, event: Mapping[str, Any]) -> None:
        self.space, self.expressions, self.event = space, expressions, event

    def explain(self, node: exp.Expr, text: str | None = None) -> Explanation:
        node = unwrapped(node)
        text = text or bare(canonical(self.expressions.names, node))
        holds, note = self._holds(text)
        parts: tuple[Explanation, ...] = ()
        if isinstance(node, exp.And | exp.Or):
            parts = tuple(self.explain(part) for part in chain(node))
        elif isinstance(node, exp.Not) and isinstance(
            unwrapped(node.this), exp.And | exp.Or | exp.Not
        ):
            parts = (self.explain(node.this),)
        return Explanation(text, holds, self._values(node), parts, note)

    def _holds(self, text: str) -> tuple[bool | None, str]:
        """What a condition is on the event, and a remark where Spark would raise."""
        parser = Parser(self.space)
        predicates = parser.parse([text, f"NOT ({text})"])
        events = _events(self.event, predicates.space)
        regions = predicates.regions
        inside = contains(
            regions, np.arange(len(regions)), events, np.zeros(len(regions), np.int64)
        )
        found = set(predicates.of[inside].tolist())
        holds = True if 0 in found else False if 1 in found else None
        malformed = any(
            isinstance(column, VectorColumn) and column.states[0] == State.MALFORMED
            for name, column in events.columns.items()
            if name in regions.constraints
        )
        return (
            holds,
            "a vector of another length: Spark would raise" if malformed and holds is None else "",
        )

    def _values(self, node: exp.Expr) -> dict[str, Any]:
        names = dict.fromkeys(
            self.expressions.names.column(column.parts[0]).name
            for column in node.find_all(exp.Column)
        )
        return {name: self.event.get(name) for name in names}


def _events(event: Mapping[str, Any], space: Space) -> Events:
    """One event as a batch; what the mapping lacks is null."""
    columns = {}
    for attribute in space:
        given = event.get(attribute.name)
        if attribute.is_derived and attribute.name not in event:
            continue
        columns[attribute.name] = _one(given, attribute)
    return Events.from_arrow(pa.table(columns), space)


def _one(given: Any, attribute: Attribute) -> pa.Array:
    """A value as a column of one row, unchanged or not at all."""
    kind = to_arrow(attribute.type)
    naive = isinstance(given, dt.datetime) and given.tzinfo is None
    try:
        column = pa.array([given], kind)
        kept = pa.types.is_nested(kind) or pa.types.is_floating(kind) or column[0].as_py() == given
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError, TypeError):
        kept = False
    if not kept or (naive and attribute.type == TIMESTAMP):
        hint = ": give it a time zone" if naive else ""
        raise SpaceError(f"{attribute.name} is {attribute.type}, but {given!r} is none{hint}")
    return column


def _check_keys(event: Mapping[str, Any], space: Space) -> None:
    """Names that no column has are more likely wrong than superfluous."""
    names = {column.name for column in space.columns}
    plain = [key for key in event if key not in names]
    for key in plain:
        near = get_close_matches(key.lower(), [n.lower() for n in names], 1)
        if near and not any(n in event for n in names if n.lower() == near[0]):
            meant = next(n for n in names if n.lower() == near[0])
            raise SpaceError(
                f"the event has {key!r}, the space {meant!r}: name it as the space does"
            )


def _shown(value: Any) -> str:
    return "null" if value is None else repr(value)
