"""Spaces from Spark schemas, the Spark columns of attributes, and conversion of times to UTC."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StructField, StructType, TimestampType

from covey.errors import SchemaError
from covey.space import Attribute, SessionSettings, Space, Type
from covey.space.types import type_from_arrow
from covey.sql_names import quote_identifier

__all__ = [
    "build_space",
    "check_event_columns",
    "convert_to_utc",
    "select_attribute",
    "select_column",
    "to_attribute_type",
]  # fmt: skip


def build_space(
    schema: StructType, settings: SessionSettings, vector_lengths: Mapping[str, int]
) -> Space:
    """Return the space of events with this schema.

    Args:
        schema: schema of the events.
        settings: settings of the session.
        vector_lengths: number of elements of each vector column, by its name.
    """
    arrow = pa.schema(
        [(field.name, _to_arrow_or_binary(field.dataType)) for field in schema.fields]
    )
    space = Space.from_arrow(arrow, vectors=vector_lengths, settings=settings)
    types = {field.name: to_column_type(field) for field in schema.fields}
    columns = (
        column if column.type.is_vector else replace(column, type=types[column.name])
        for column in space.columns
    )
    return replace(space, columns=tuple(columns))


def to_attribute_type(data_type: DataType) -> Type:
    """Convert a Spark type to the type of an attribute.

    Text types whose values only Spark can compare are converted to a type that no attribute can
    have. These are types with a collation other than the default, in which 'a' may equal 'A', and
    types of a fixed length, for which Spark pads literals with blanks before a comparison.
    """
    type_name = data_type.simpleString()
    if _COMPARED_BY_SPARK.search(type_name):
        return Type(type_name)
    return type_from_arrow(_to_arrow_or_binary(data_type))


def to_column_type(field: StructField) -> Type:
    """Convert the type of a column to the type of an attribute.

    Spark turns a column that is declared as CHAR into a string column, and records the declared
    type in the metadata of the column. Such a column is converted by its declared type.
    """
    type_name = field.metadata.get(_CHAR_OR_VARCHAR, "")
    if _COMPARED_BY_SPARK.search(type_name):
        return Type(type_name)
    return to_attribute_type(field.dataType)


_CHAR_OR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
"""Key of a column's metadata under which Spark records that it is declared as CHAR or VARCHAR."""
_COMPARED_BY_SPARK = re.compile(r"\bcollate\b|\bchar\(", re.IGNORECASE)


def _to_arrow_or_binary(data_type: DataType) -> pa.DataType:
    """Return the Arrow type of a Spark type, or binary if there is none.

    No attribute has type binary.
    """
    try:
        return to_arrow_type(data_type, timezone="UTC")
    except Exception:
        return pa.binary()


def select_column(name: str) -> Column:
    """Return the column with exactly this name, which may contain any characters."""
    return F.col(quote_identifier(name))


def select_attribute(attribute: Attribute) -> Column:
    """Return the expression with which Spark computes an attribute of an event."""
    return F.expr(attribute.sql) if attribute.is_derived else select_column(attribute.name)


def check_event_columns(
    space: Space, constrained_attributes: Sequence[str], schema: StructType
) -> None:
    """Check that events have a column of the right type for each constrained attribute.

    Args:
        space: the space of the subscriptions.
        constrained_attributes: attributes that some subscription constrains; derived attributes
            are not checked.
        schema: schema of the events.

    Raises:
        SchemaError: a column is missing or has another type.
    """
    types = {field.name.lower(): to_column_type(field) for field in schema.fields}
    for name in constrained_attributes:
        attribute = space[name]
        if attribute.is_derived:
            continue
        if name.lower() not in types:
            raise SchemaError(
                f"the events have no column {name!r}, which a subscription constrains: add it"
            )
        event_type = types[name.lower()]
        if event_type != replace(attribute.type, length=0):
            raise SchemaError(
                f"column {name!r} is {event_type} in the events, but {attribute.type} in the "
                "schema for which the subscriptions were parsed: cast the column"
            )


def convert_to_utc(fields: Mapping[str, object], schema: StructType) -> dict[str, object]:
    """Return collected values with timestamps in UTC; other values are returned unchanged.

    Spark collects TIMESTAMP values as naive datetimes in the local time zone of this machine.
    Values of type TIMESTAMP_NTZ are not converted.

    Args:
        fields: the values of a row by column name.
        schema: schema of the row.
    """
    return {
        name: value.astimezone(UTC)
        if isinstance(value, datetime) and isinstance(schema[name].dataType, TimestampType)
        else value
        for name, value in fields.items()
    }
