"""From Spark's schemas to spaces."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StructField, StructType

from covey.errors import SchemaError
from covey.space import Attribute, SessionSettings, Space, Type
from covey.space.types import type_from_arrow
from covey.sql_names import quote_identifier

__all__ = [
    "build_space",
    "check_event_columns",
    "select_attribute",
    "select_column",
    "to_attribute_type",
]  # fmt: skip


def build_space(
    schema: StructType, settings: SessionSettings, vector_lengths: Mapping[str, int]
) -> Space:
    """The space of the events of a schema; `vectors` has the lengths of its vectors."""
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
    """A type of Spark's, as attributes have it; one that Spark alone can compare is no attribute.

    Such are texts of a collation other than Spark's own, in which 'a' may equal 'A', and texts of a
    fixed length, which Spark compares with literals that it fills up with blanks.
    """
    spelled = data_type.simpleString()
    if _COMPARED_BY_SPARK.search(spelled):
        return Type(spelled)
    return type_from_arrow(_to_arrow_or_binary(data_type))


def to_column_type(field: StructField) -> Type:
    """The type of a column, as attributes have it."""
    spelled = field.metadata.get(_CHAR_OR_VARCHAR, "")
    return (
        Type(spelled) if _COMPARED_BY_SPARK.search(spelled) else to_attribute_type(field.dataType)
    )


_CHAR_OR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
"""Where Spark keeps that a column of texts is declared as CHAR or VARCHAR."""
_COMPARED_BY_SPARK = re.compile(r"\bcollate\b|\bchar\(", re.IGNORECASE)


def _to_arrow_or_binary(data_type: DataType) -> pa.DataType:
    """A type as Arrow has it; what Arrow cannot carry is no attribute, like binary."""
    try:
        return to_arrow_type(data_type, timezone="UTC")
    except Exception:
        return pa.binary()


def select_column(name: str) -> Column:
    """The column with just this name, whatever letters are in it."""
    return F.col(quote_identifier(name))


def select_attribute(attribute: Attribute) -> Column:
    """What Spark computes of an event for an attribute."""
    return F.expr(attribute.sql) if attribute.is_derived else select_column(attribute.name)


def check_event_columns(
    space: Space, constrained_attributes: Sequence[str], schema: StructType
) -> None:
    """Refuses events in which an attribute that is constrained is missing or of another type."""
    given = {field.name.lower(): to_column_type(field) for field in schema.fields}
    for name in constrained_attributes:
        attribute = space[name]
        if attribute.is_derived:
            continue
        if name.lower() not in given:
            raise SchemaError(
                f"the events have no column {name!r}, which a subscription constrains"
            )
        found = given[name.lower()]
        if found != replace(attribute.type, length=0):
            raise SchemaError(
                f"column {name!r} is {found} in the events, but {attribute.type} in the schema "
                "that the model was fitted with: cast it, or fit again"
            )
