"""Explanation of a predicate on one event of a table, without Spark unless it is needed.

Spark is needed for derived attributes such as `lower(title)`, for expressions whose types only
Spark knows, and for times, because their meaning depends on the time zone of Spark's session.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType, StringType

from covey.cli.explain.table_rows import (
    EventKey,
    EventRow,
    missing_event_error,
    missing_subscription_error,
)
from covey.cli.io.columns import check_columns, read_events
from covey.cli.io.sources import TableSource
from covey.cli.session import SessionLauncher
from covey.errors import InvalidArgumentError, PredicateError, UnknownTypeError
from covey.language import Explanation, Parser, explain, parse, render
from covey.space import Space
from covey.space.types import BOOLEAN, DOUBLE, FLOAT, STRING, Type
from covey.sql_names import quote_identifier

__all__ = ["explain_with_spark", "explain_without_spark", "render_subscription"]

_PLAIN_TYPES = (
    STRING,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    *map(Type, ("tinyint", "smallint", "int", "bigint")),
)


def explain_without_spark(
    predicate: str, event: EventRow, vector_lengths: Mapping[str, int], space: Space | None = None
) -> Explanation | None:
    """Return the explanation, or None if Spark is needed for it.

    Args:
        predicate: the predicate, as the user wrote it.
        event: the event, and the schema of its table.
        vector_lengths: length of the vectors in each column of vectors.
        space: the space of the model, if the predicate is from a model; otherwise None.

    Raises:
        PredicateError: the predicate is wrong.
    """
    plain = space or Space.from_arrow(event.schema, vectors=vector_lengths)
    parser = Parser(plain)
    parsed = parser.parse([predicate])
    if parsed.rejected:
        if _depends_on_spark(parsed.rejected[0]):
            return None
        raise parsed.rejected[0]
    if parsed.missing_types:
        return None
    for name in parsed.regions.constraints:
        attribute = parsed.space[name]
        is_plain = attribute.type in _PLAIN_TYPES or attribute.type.is_vector
        if attribute.is_derived or not (is_plain or attribute.type.element == STRING):
            return None
        if not event.has_types and _may_be_time(event.values.get(name)):
            return None
    known = {column.name for column in plain.columns}
    values = {name: value for name, value in event.values.items() if name in known}
    return explain(plain, predicate, values)


def explain_with_spark(
    predicate: str,
    events: TableSource,
    key: EventKey,
    vector_lengths: dict[str, int],
    launcher: SessionLauncher,
) -> Explanation:
    """Read the event and compute its derived attributes with Spark, and return the explanation.

    Raises:
        InvalidArgumentError: there is no such event.
        PredicateError: the predicate is wrong.
    """
    from covey.spark.fitting import UNLIMITED, SparkExpressionTypes
    from covey.spark.schemas import build_space, convert_to_utc
    from covey.spark.session_settings import read_session_settings

    with launcher.launch() as spark:
        frame = read_events(events, spark, vector_lengths)
        space = build_space(frame.schema, read_session_settings(spark), vector_lengths)
        types = SparkExpressionTypes(spark, frame.schema, (), max_attributes=UNLIMITED)
        parsed = parse(space, [predicate], types=types)
        derived = parsed.space.derived
        rows = frame
        if key.column is not None:
            check_columns(events, frame.columns, [key.column])
            column = F.col(quote_identifier(key.column)).cast("string")
            rows = frame.where(column == key.value)
        columns = [F.col(quote_identifier(name)) for name in frame.columns]
        computed = [F.expr(one.sql).alias(f"covey_{i}") for i, one in enumerate(derived)]
        selected = rows.limit(key.row + 1).select(*columns, *computed)
        found: list[Row] = selected.tail(1)
        if not found or (key.column is None and rows.limit(key.row + 1).count() <= key.row):
            raise missing_event_error(events, key)
        fields = convert_to_utc(found[0].asDict(), selected.schema)
        values = {name: fields[name] for name in frame.columns}
        values |= {one.name: fields[f"covey_{i}"] for i, one in enumerate(derived)}
        return explain(replace(space, derived=derived), predicate, values)


def render_subscription(model_path: str, subscription_id: str) -> tuple[str, Space]:
    """Return the predicate of a subscription of a saved model, and the space of the model.

    A model contains regions, not texts. So the predicate may differ from the one that was fitted,
    but it means the same.

    Raises:
        InvalidArgumentError: the model has no such subscription, the subscription can never match,
            or the ids of the model are neither integers nor strings.
    """
    from covey.spark.model_io import read_model_state
    from covey.spark.validity import drop_validity
    from covey.store import Store

    state = read_model_state(model_path)
    wanted: str | int = subscription_id
    if isinstance(state.id_type, IntegralType):
        try:
            wanted = int(subscription_id)
        except ValueError:
            raise missing_subscription_error(model_path, subscription_id) from None
    elif not isinstance(state.id_type, StringType):
        raise InvalidArgumentError(
            f"ids of the model have type {state.id_type.simpleString()}, but `covey explain` can "
            "look up only integer and string ids in a model: name the table of subscriptions "
            "instead of the model"
        )
    snapshot = Store.open(state.location).snapshot(state.version)
    (row,) = snapshot.find_rows([wanted]).tolist()
    if row < 0:
        raise missing_subscription_error(model_path, subscription_id)
    regions, _ = snapshot.take_regions(np.array([row]))
    plain = drop_validity(regions)
    texts = [render(plain, number) for number in range(len(plain))]
    if not texts:
        raise InvalidArgumentError(
            f"subscription {subscription_id} of {model_path} can never match: no event satisfies "
            "its conditions, or its validity interval is empty"
        )
    return texts[0] if len(texts) == 1 else " OR ".join(f"({text})" for text in texts), plain.space


def _depends_on_spark(error: PredicateError) -> bool:
    """Return whether a predicate is rejected only because it is parsed without Spark."""
    return isinstance(error, UnknownTypeError) or "without Spark" in str(error)


def _may_be_time(value: object) -> bool:
    """Return whether Spark may read a value in CSV or JSON as a time or a date.

    >>> _may_be_time("2024-05-01T12:00"), _may_be_time("5 rooms")
    (True, False)
    """
    return isinstance(value, str) and re.match(r"\s*[+-]?\d+[-:]", value) is not None
