"""Types of attributes and of expressions over them, named as in Spark.

The values of a scalar type are ordered, and `covey.space.keys` converts them to keys. Tags are
Spark's `array<string>`; a vector is an `array<float>` of known length. Derived attributes can read
columns of other types, but such columns are not attributes.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from covey.errors import SchemaError

__all__ = [
    "BIGINT",
    "BOOLEAN",
    "DATE",
    "DOUBLE",
    "FLOAT",
    "INT",
    "SMALLINT",
    "STRING",
    "TAGS",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
    "TINYINT",
    "VOID",
    "Type",
    "array_type",
    "decimal_type",
    "type_from_arrow",
    "type_to_arrow",
    "vector_type",
]


@dataclass(frozen=True, slots=True)
class Type:
    """Type with its name in Spark: `Type("int")`, `decimal_type(10, 2)`, `vector_type(384)`.

    Args:
        name: Spark's name without parameters, or `arrow:…` for an Arrow type without a counterpart
            in this module.
        precision: digits of a decimal.
        scale: digits of a decimal after the point.
        length: length of a vector; 0 for an array of any length.
        element: type of the elements of an array.
        fields: names and types of the fields of a struct.

    >>> str(decimal_type(10, 2)), decimal_type(10, 2).is_scalar
    ('decimal(10,2)', True)
    """

    name: str
    precision: int = 0
    scale: int = 0
    length: int = 0
    element: Type | None = None
    fields: tuple[tuple[str, Type], ...] = ()

    @property
    def is_integral(self) -> bool:
        return self.name in _INTEGRAL

    @property
    def is_fractional(self) -> bool:
        return self.name in ("float", "double")

    @property
    def is_decimal(self) -> bool:
        return self.name == "decimal"

    @property
    def is_numeric(self) -> bool:
        return self.is_integral or self.is_fractional or self.is_decimal

    @property
    def is_datetime(self) -> bool:
        return self.name in ("date", "timestamp", "timestamp_ntz")

    @property
    def is_text(self) -> bool:
        return self.name == "string"

    @property
    def is_scalar(self) -> bool:
        return self.is_numeric or self.is_datetime or self.is_text or self.name == "boolean"

    @property
    def is_tags(self) -> bool:
        return self == TAGS

    @property
    def is_vector(self) -> bool:
        return self.name == "array" and self.element == FLOAT and self.length > 0

    @property
    def is_attribute(self) -> bool:
        """Whether subscriptions can constrain a column of this type directly."""
        return self.is_scalar or self.is_tags or self.is_vector

    def __str__(self) -> str:
        if self.is_decimal:
            return f"decimal({self.precision},{self.scale})"
        if self.name == "array":
            return f"array<{self.element}>" + (f"[{self.length}]" if self.length else "")
        if self.name == "struct":
            return "struct<" + ",".join(f"{n}:{t}" for n, t in self.fields) + ">"
        return self.name


_INTEGRAL = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}

TINYINT, SMALLINT, INT, BIGINT = (Type(name) for name in _INTEGRAL)
FLOAT, DOUBLE = Type("float"), Type("double")
DATE, TIMESTAMP, TIMESTAMP_NTZ = Type("date"), Type("timestamp"), Type("timestamp_ntz")
STRING, BOOLEAN, VOID = Type("string"), Type("boolean"), Type("void")
TAGS = Type("array", element=STRING)


def decimal_type(precision: int, scale: int) -> Type:
    """Return the type of decimals of `precision` digits, `scale` of them after the decimal point.

    Raises:
        SchemaError: Spark has no decimal of this precision and scale.
    """
    if not (1 <= precision <= 38 and 0 <= scale <= precision):
        raise SchemaError(
            f"decimal({precision},{scale}) does not exist: precision must be from 1 to 38, "
            "and scale from 0 to precision"
        )
    return Type("decimal", precision, scale)


def vector_type(length: int) -> Type:
    """Return the type of an `array<float>` of this length."""
    return Type("array", length=length, element=FLOAT)


def array_type(element: Type) -> Type:
    """Return the type of arrays with elements of the given type; with `STRING`, this is `TAGS`."""
    return Type("array", element=element)


_FROM_ARROW = {
    pa.int8(): TINYINT, pa.int16(): SMALLINT, pa.int32(): INT, pa.int64(): BIGINT,
    pa.float32(): FLOAT, pa.float64(): DOUBLE, pa.bool_(): BOOLEAN, pa.date32(): DATE,
    pa.string(): STRING, pa.large_string(): STRING, pa.string_view(): STRING, pa.null(): VOID,
}  # fmt: skip


def type_from_arrow(arrow: pa.DataType) -> Type:
    """Return the type of an Arrow column.

    An Arrow type without a counterpart in this module is named `arrow:…`; such a column is not an
    attribute.

    >>> type_from_arrow(pa.timestamp("us", "UTC"))
    Type(name='timestamp', precision=0, scale=0, length=0, element=None, fields=())
    """
    if (simple_type := _FROM_ARROW.get(arrow)) is not None:
        return simple_type
    if pa.types.is_dictionary(arrow):
        return type_from_arrow(arrow.value_type)
    if pa.types.is_timestamp(arrow):
        return TIMESTAMP if arrow.tz else TIMESTAMP_NTZ
    if pa.types.is_decimal(arrow) and arrow.precision <= 38 and 0 <= arrow.scale:
        return decimal_type(arrow.precision, arrow.scale)
    if pa.types.is_fixed_size_list(arrow):
        element = type_from_arrow(arrow.value_type)
        return vector_type(arrow.list_size) if element == FLOAT else array_type(element)
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        return array_type(type_from_arrow(arrow.value_type))
    if pa.types.is_struct(arrow):
        return Type("struct", fields=tuple((f.name, type_from_arrow(f.type)) for f in arrow))
    return Type(f"arrow:{arrow}")


_TO_ARROW = {
    TINYINT: pa.int8(), SMALLINT: pa.int16(), INT: pa.int32(), BIGINT: pa.int64(),
    FLOAT: pa.float32(), DOUBLE: pa.float64(), BOOLEAN: pa.bool_(), DATE: pa.date32(),
    STRING: pa.string(), TIMESTAMP: pa.timestamp("us", "UTC"), TIMESTAMP_NTZ: pa.timestamp("us"),
}  # fmt: skip


def type_to_arrow(type_: Type) -> pa.DataType:
    """Return the Arrow type that Spark uses for a column of this type.

    For a vector, this is a list of floats of any length.

    Raises:
        SchemaError: the type has no counterpart in Arrow.
    """
    if type_.is_decimal:
        return pa.decimal128(type_.precision, type_.scale)
    if type_.name == "array" and type_.element is not None:
        return pa.list_(type_to_arrow(type_.element))
    if type_.name == "struct":
        return pa.struct([(name, type_to_arrow(field)) for name, field in type_.fields])
    if type_ not in _TO_ARROW:
        raise SchemaError(f"columns of type {type_} cannot be converted to Arrow")
    return _TO_ARROW[type_]
