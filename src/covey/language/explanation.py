"""Explanation of why a predicate matches an event or does not match it.

The explanation contains each condition, its outcome, and the values that it reads. In SQL's
three-valued logic, a condition may also be unknown, because a value is null. A null value is the
most common reason why a subscription unexpectedly does not match.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from covey._argument_checks import check_arguments
from covey._types import JsonObject
from covey.errors import SchemaError
from covey.geometry.relations import contains
from covey.language.parser import Parser, parse
from covey.language.semantics.canonical_form import canonical_text
from covey.language.semantics.expression_types import (
    KnownTypes,
    StaticOperand,
    facts_of_attributes,
)
from covey.language.semantics.expressions import Expressions
from covey.language.semantics.name_resolver import resolve_keywords
from covey.language.syntax.ast_utils import flatten_chain, strip_parentheses, unwrap_parentheses
from covey.language.syntax.grammar import parse_tree
from covey.space import Attribute, Events, Space
from covey.space.events import ValueState, VectorColumn
from covey.space.types import TIMESTAMP, type_to_arrow

__all__ = ["Explanation", "explain"]

_OUTCOME_WORDS = {True: "yes", False: "no", None: "unknown"}


@dataclass(frozen=True, slots=True)
class Explanation:
    """The outcome of one condition on one event.

    Attributes:
        text: the condition.
        holds: True or False, or None if it is unknown.
        values: the event's values of the columns that the condition reads, by name.
        parts: for AND and OR, the outcomes of the combined conditions. For NOT, the outcome of the
            negated condition if that contains AND, OR or NOT itself. Otherwise empty.
        note: if the outcome is unknown because Spark would raise an error on a vector of the wrong
            length, a sentence that says so; otherwise empty.
    """

    text: str
    holds: bool | None
    values: Mapping[str, Any]
    parts: tuple[Explanation, ...] = ()
    note: str = ""

    def as_dict(self) -> JsonObject:
        """Return the explanation as a dictionary, in which the parts are dictionaries too.

        Every entry can be written as JSON except `values`, which may contain objects such as dates.
        """
        return {
            "text": self.text,
            "holds": self.holds,
            "values": dict(self.values),
            "note": self.note,
            "parts": [part.as_dict() for part in self.parts],
        }

    def __str__(self) -> str:
        return "\n".join(self._format_lines(0))

    def _format_lines(self, depth: int) -> Iterator[str]:
        """Yield a line for the condition and, indented, one for each of its parts."""
        values = ", ".join(
            f"{name} is {_format_value(value)}" for name, value in self.values.items()
        )
        reason = f"    ({values}{'; ' if values and self.note else ''}{self.note})"
        detail = reason if not self.parts and (values or self.note) else ""
        yield f"{'  ' * depth}{_OUTCOME_WORDS[self.holds]}: {self.text}{detail}"
        for part in self.parts:
            yield from part._format_lines(depth + 1)


@check_arguments
def explain(space: Space, text: str, event: Mapping[str, object]) -> Explanation:
    """Explain which conditions of a predicate hold on an event and which do not.

    Args:
        space: the attributes of events.
        text: the predicate.
        event: a row as a mapping from column names to values; a missing column is null. If the
            predicate has a derived attribute, the mapping must contain its value under its name.

    Returns:
        The outcome of the whole predicate, with the outcomes of its conditions in `parts`. The
        outcome is True if and only if the predicate matches the event.

    Raises:
        PredicateError: the predicate is wrong.
        SchemaError: a value does not fit the type of its column, the value of a derived attribute
            is missing, or a key looks like a misspelt column.

    Cost: some milliseconds, because every condition is parsed and evaluated separately. To match
    batches, use an index instead.

    >>> space = Space.from_types({"price": pa.float64(), "city": pa.string()})
    >>> print(explain(space, "price > 100 AND city = 'Rome'", {"price": 120.5, "city": None}))
    unknown: price > 100 AND city = 'Rome'
      yes: price > 100    (price is 120.5)
      unknown: city = 'Rome'    (city is null)
    """
    types = KnownTypes(facts_of_attributes(space.derived), StaticOperand())
    parse(space, [text], types=types)
    _check_event_keys(event, space)
    tree = resolve_keywords(parse_tree(text, space.limits), space)
    explainer = _Explainer(space, types, Expressions(tree, space, types), event)
    return explainer.explain(tree.root, text.strip())


class _Explainer:
    """Explainer of the conditions of one predicate on one event."""

    def __init__(
        self, space: Space, types: KnownTypes, expressions: Expressions, event: Mapping[str, object]
    ) -> None:
        self.space, self.types = space, types
        self.expressions, self.event = expressions, event

    def explain(self, node: exp.Expr, text: str | None = None) -> Explanation:
        """Return the explanation of a condition.

        The condition is shown as `text`; by default, this is its canonical text.
        """
        node = unwrap_parentheses(node)
        text = text or strip_parentheses(canonical_text(self.expressions.names, node))
        holds, note = self._evaluate_text(text)
        parts: tuple[Explanation, ...] = ()
        if isinstance(node, exp.And | exp.Or):
            parts = tuple(self.explain(part) for part in flatten_chain(node))
        elif isinstance(node, exp.Not) and isinstance(
            unwrap_parentheses(node.this), exp.And | exp.Or | exp.Not
        ):
            parts = (self.explain(node.this),)
        return Explanation(text, holds, self._read_values(node), parts, note)

    def _evaluate_text(self, text: str) -> tuple[bool | None, str]:
        """Return the outcome of a condition on the event, and the note of its explanation.

        The outcome is True if the condition matches the event, False if the negation of the
        condition matches it, and otherwise None.
        """
        parser = Parser(self.space, types=self.types)
        predicates = parser.parse([text, f"NOT ({text})"])
        events = _build_event_batch(self.event, predicates.space)
        regions = predicates.regions
        is_contained = contains(
            regions, np.arange(len(regions)), events, np.zeros(len(regions), np.int64)
        )
        matching_texts = set(predicates.predicate_rows[is_contained].tolist())
        holds = True if 0 in matching_texts else False if 1 in matching_texts else None
        malformed = any(
            isinstance(column, VectorColumn) and column.states[0] == ValueState.MALFORMED
            for name, column in events.columns.items()
            if name in regions.constraints
        )
        return (
            holds,
            "a vector has the wrong length: Spark would raise an error"
            if malformed and holds is None
            else "",
        )

    def _read_values(self, node: exp.Expr) -> dict[str, Any]:
        """Return the event's values of the columns in a condition, by name."""
        names = dict.fromkeys(column.name for column in self.expressions.names.find_columns(node))
        return {name: self.event.get(name) for name in names}


def _build_event_batch(event: Mapping[str, object], space: Space) -> Events:
    """Return the event as a batch of one row.

    A column that the event lacks is null. A derived attribute that the event lacks is left out.
    """
    columns = {}
    for attribute in space:
        value = event.get(attribute.name)
        if attribute.is_derived and attribute.name not in event:
            continue
        columns[attribute.name] = _build_one_row_column(value, attribute)
    return Events.from_arrow(pa.table(columns), space)


def _build_one_row_column(value: Any, attribute: Attribute) -> pa.Array:
    """Return a value as a column of one row; a floating-point number may be rounded.

    Raises:
        SchemaError: the value does not fit the type of the attribute, or the attribute is a
            timestamp and the value is a `datetime` without a time zone.
    """
    type_ = type_to_arrow(attribute.type)
    is_naive = isinstance(value, dt.datetime) and value.tzinfo is None
    try:
        column = pa.array([value], type_)
        is_exact = (
            pa.types.is_nested(type_) or pa.types.is_floating(type_) or column[0].as_py() == value
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError, TypeError):
        is_exact = False
    if not is_exact or (is_naive and attribute.type == TIMESTAMP):
        hint = ": give the value a time zone" if is_naive else ""
        raise SchemaError(
            f"{attribute.name} is {attribute.type}, and the value {value!r} of the event does not "
            f"fit this type{hint}"
        )
    return column


def _check_event_keys(event: Mapping[str, object], space: Space) -> None:
    """Raise SchemaError if a key looks like the misspelt name of a column that the event lacks.

    Other unknown keys are ignored.
    """
    names = {column.name for column in space.columns}
    unknown_keys = [key for key in event if key not in names]
    for key in unknown_keys:
        similar = get_close_matches(key.lower(), [n.lower() for n in names], 1)
        if similar and not any(n in event for n in names if n.lower() == similar[0]):
            column_name = next(n for n in names if n.lower() == similar[0])
            raise SchemaError(
                f"the event has the key {key!r}, but the column of the space is {column_name!r}: "
                "use the name of the column"
            )


def _format_value(value: Any) -> str:
    """Return a value as explanations show it: nulls, Booleans, decimals and times as in SQL.

    All other values are shown as Python writes them.

    >>> print(_format_value(dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)))
    TIMESTAMP '2024-05-01 12:00:00+00:00'
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dt.datetime):
        type_name = "TIMESTAMP_NTZ" if value.tzinfo is None else "TIMESTAMP"
        return f"{type_name} '{value.isoformat(' ')}'"
    return f"DATE '{value.isoformat()}'" if isinstance(value, dt.date) else repr(value)
