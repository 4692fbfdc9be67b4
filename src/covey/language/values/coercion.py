"""Comparison of an attribute with a literal as Spark does it: the common type, and the key bounds.

Spark casts both sides to a common type, which may lose digits (`bigint = 0.5D` compares doubles).
Most casts of an attribute preserve the order of its values. So the keys of values below the literal
come before the keys of values above it, and a comparison becomes a pair of exact bounds for keys.
If a cast does not preserve the order (a text compared as a number), the cast itself becomes a
derived attribute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from covey.language.values import casts
from covey.language.values.literals import LiteralError, TypedLiteral, round_to_float32
from covey.language.values.sql_literals import format_day, format_time
from covey.space.keys import decode_float, encode_double, encode_floats, key_domain
from covey.space.space import SessionSettings
from covey.space.text_bounds import next_text
from covey.space.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    Type,
    decimal_type,
)

__all__ = [
    "KeyBound",
    "common_type_of_list",
    "common_type_of_pair",
    "common_type_with_literal",
    "find_key_bound",
    "integer_literal_as_decimal",
    "is_lossy_cast",
    "needs_cast",
    "wider_numeric_type",
]


class KeyBound(NamedTuple):
    """The first key whose value is at least a literal, and the first whose value is larger."""

    at_least: Any
    above: Any


def common_type_of_pair(a: Type, b: Type, settings: SessionSettings) -> Type | None:
    """Return the type to which Spark casts both sides of a comparison.

    Return None if Spark refuses to compare the types.

    >>> from covey.space.types import INT
    >>> common_type_of_pair(INT, decimal_type(2, 1), SessionSettings()).__str__()
    'decimal(11,1)'
    """
    if a == b:
        return a
    if VOID in (a, b):
        return a if b == VOID else b
    if a.is_numeric and b.is_numeric:
        return wider_numeric_type(a, b, settings.ansi)
    if a.is_datetime and b.is_datetime:
        return _wider_datetime_type(a, b)
    if STRING in (a, b):
        other = b if a == STRING else a
        return _common_type_with_text(other, settings.ansi) if other.is_scalar else None
    if BOOLEAN in (a, b) and (a.is_numeric or b.is_numeric) and not settings.ansi:
        return b if a == BOOLEAN else a
    return None


def common_type_of_list(types: Sequence[Type], settings: SessionSettings) -> Type | None:
    """Return the type to which Spark casts an attribute and all values of an `IN` list.

    Return None if Spark refuses to compare the types. The type may differ from the common type of
    `=`: without ANSI mode, if the list contains a text, Spark compares all values as texts.
    """
    distinct = [t for t in dict.fromkeys(types) if t != VOID] or [VOID]
    if not settings.ansi and STRING in distinct:
        return None if BOOLEAN in distinct or not all(t.is_scalar for t in distinct) else STRING
    if not settings.ansi and BOOLEAN in distinct:
        return BOOLEAN if set(distinct) == {BOOLEAN} else None
    common: Type | None = distinct[0]
    for type_ in distinct[1:]:
        common = None if common is None else common_type_of_pair(common, type_, settings)
    return common


def common_type_with_literal(
    attribute: Type, literal: TypedLiteral, settings: SessionSettings
) -> Type | None:
    """Return the common type of an attribute and one literal, or None if Spark refuses to compare.

    If the attribute is a decimal, an integer literal counts as a decimal of the type that
    `integer_literal_as_decimal` returns. A `timestamp_ntz` attribute and a `timestamp` literal are
    compared as local times if the local time of the literal converts back to the literal, because
    Spark's optimizer then casts the literal and not the attribute.
    """
    if attribute == TIMESTAMP_NTZ and literal.type == TIMESTAMP:
        local = casts.utc_to_local(literal.value, settings)
        is_reversible = casts.local_to_utc(local, settings) == literal.value
        return TIMESTAMP_NTZ if is_reversible else TIMESTAMP
    if attribute.is_decimal and literal.type.is_integral:
        return common_type_of_pair(attribute, integer_literal_as_decimal(literal), settings)
    return common_type_of_pair(attribute, literal.type, settings)


def integer_literal_as_decimal(literal: TypedLiteral) -> Type:
    """Return the decimal type to which Spark casts an integer literal next to a decimal.

    Its precision is the number of digits of the literal; for a tinyint literal, it is 3.

    >>> str(integer_literal_as_decimal(TypedLiteral(BIGINT, -120)))
    'decimal(3,0)'
    >>> str(integer_literal_as_decimal(TypedLiteral(TINYINT, 0)))
    'decimal(3,0)'
    """
    if literal.type == TINYINT:
        return as_decimal_type(TINYINT)
    return decimal_type(len(str(abs(literal.value))), 0)


def wider_numeric_type(a: Type, b: Type, ansi: bool) -> Type:
    """Return the common type of two numeric types."""
    if a.is_integral and b.is_integral:
        return max(a, b, key=lambda t: _WIDTH[t.name])
    if DOUBLE in (a, b) or ((a.is_decimal or b.is_decimal) and FLOAT in (a, b)):
        return DOUBLE
    if FLOAT in (a, b):
        return FLOAT if a == b or not ansi else DOUBLE
    p, q = as_decimal_type(a), as_decimal_type(b)
    scale = max(p.scale, q.scale)
    precision = max(p.precision - p.scale, q.precision - q.scale) + scale
    return decimal_type(min(precision, 38), max(0, scale - max(0, precision - 38)))


_WIDTH = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}


def as_decimal_type(type_: Type) -> Type:
    """Return the decimal type that holds all values of an integral type; a decimal is unchanged."""
    return decimal_type(_DIGITS[type_.name], 0) if type_.is_integral else type_


def _wider_datetime_type(a: Type, b: Type) -> Type:
    """Return the common type of two types of dates or times."""
    return TIMESTAMP if TIMESTAMP in (a, b) else TIMESTAMP_NTZ if TIMESTAMP_NTZ in (a, b) else DATE


def _common_type_with_text(other: Type, ansi: bool) -> Type:
    """Return the type in which Spark compares a text with another scalar type."""
    if ansi:
        return BIGINT if other.is_integral else DOUBLE if other.is_numeric else other
    return DOUBLE if other.is_decimal and other.scale > 0 else other


def needs_cast(attribute: Type, common: Type) -> bool:
    """Return whether a comparison must use the cast of the attribute as a derived attribute.

    This is necessary if the cast does not preserve the order of the values.
    """
    if attribute == STRING or common == STRING:
        return attribute != common
    return attribute == TIMESTAMP_NTZ and common == TIMESTAMP


def is_lossy_cast(attribute: Type, common: Type | None) -> bool:
    """Return whether, after the cast, more values may equal one literal than can be listed.

    The common type then has fewer digits than the attribute.
    """
    if common is None or attribute == common:
        return False
    if common.is_fractional and not attribute.is_fractional:
        return attribute.precision > 18 or (attribute == BIGINT and common == FLOAT)
    return attribute.is_decimal and common.is_decimal and common.scale < attribute.scale


@lru_cache(maxsize=1 << 16)
def find_key_bound(
    attribute: Type, common: Type, literal: TypedLiteral, settings: SessionSettings
) -> KeyBound | None:
    """Return the bounds of a literal in the keys of an attribute, compared in a common type.

    Returns:
        The bounds; None if the comparison is null for every event.

    Raises:
        LiteralError: Spark would raise an error on every event, or the literal is not supported.
    """
    bound = _cast_literal(literal, common, settings)
    if bound is None:
        return None
    domain = key_domain(attribute)
    if attribute == STRING:
        return KeyBound(bound, next_text(bound))
    below, above = int(domain.low), int(domain.high) + 1
    if attribute == common or (attribute.is_integral and common.is_integral):
        return KeyBound(min(max(bound, below), above), min(max(bound + 1, below), above))
    image = _make_order_image(attribute, common, settings)
    guess = _guess_key(attribute, common, bound)
    at_least = _find_first(below, above, guess, lambda key: image(key) >= bound)
    return KeyBound(
        at_least, _find_first(at_least, above, at_least, lambda key: image(key) > bound)
    )


def _find_first(low: int, high: int, guess: int, holds: Callable[[int], bool]) -> int:
    """Return the first integer of [low, high) for which `holds` is true, or `high` if none is.

    If `holds` is true for an integer, it must be true for all larger ones. The search starts at
    `guess` and doubles its steps: with a good guess it is cheap, and with a bad guess it costs
    twice as much as bisection.
    """
    if low >= high:
        return low
    guess, step = min(max(guess, low), high - 1), 1
    if holds(guess):
        high = guess
        while low < high:
            probe = max(low, high - step)
            if not holds(probe):
                low = probe + 1
                break
            high, step = probe, 2 * step
    else:
        low = guess + 1
        while low < high:
            probe = min(high - 1, low + step - 1)
            if holds(probe):
                high = probe
                break
            low, step = probe + 1, 2 * step
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _make_order_image(
    attribute: Type, common: Type, settings: SessionSettings
) -> Callable[[int], int]:
    """Return a function that converts keys of the attribute to keys of the common type."""
    if common.is_fractional and attribute.is_fractional:
        return lambda key: _encode_float(decode_float(key, attribute), common)
    if common == DOUBLE:
        divisor = 10**attribute.scale
        return lambda key: encode_double(key / divisor)  # Python rounds the quotient once
    if common == FLOAT:
        return lambda key: _encode_float(_scale_down(key, attribute.scale), common)
    if common.is_decimal:
        shift = common.scale - attribute.scale
        return lambda key: key * 10**shift if shift >= 0 else _divide_half_up(key, 10**-shift)
    if attribute == DATE and common == TIMESTAMP:
        return lambda key: casts.start_of_day(key, settings)
    if attribute == DATE and common == TIMESTAMP_NTZ:
        return lambda key: key * casts.DAY_US
    return lambda key: key


def _guess_key(attribute: Type, common: Type, bound: int) -> int:
    """Return a key of an attribute whose image (see `_make_order_image`) is close to `bound`."""
    if common.is_fractional:
        number = decode_float(bound, common)
        if not math.isfinite(number):
            return 0
        if attribute.is_fractional:
            return _encode_float(number, attribute)
        scaled = number * 10.0**attribute.scale
        return int(scaled) if math.isfinite(scaled) else 0
    if common.is_decimal:
        shift = common.scale - attribute.scale
        return int(bound // 10**shift if shift >= 0 else bound * 10**-shift)
    return bound // casts.DAY_US if attribute == DATE else bound


def _scale_down(key: int, scale: int) -> Decimal | float:
    """Return the number of a key: a float for an integer up to 2^53, otherwise a `Decimal`."""
    if scale == 0 and abs(key) <= 1 << 53:
        return float(key)
    return Decimal(key).scaleb(-scale, casts.EXACT_CONTEXT)


def _encode_float(number: Any, common: Type) -> int:
    """Return the key of a number as a float or a double; the number is rounded only once."""
    if common == DOUBLE:
        return encode_double(float(number))
    if isinstance(number, float):
        with np.errstate(over="ignore"):
            single = np.float32(number)
    else:
        single = round_to_float32(Decimal(number))
    return int(encode_floats(np.array([single], np.float32))[0])


def _divide_half_up(number: int, divisor: int) -> int:
    """Return a quotient rounded to the nearest integer; a half is rounded away from zero."""
    rounded = (2 * abs(number) + divisor) // (2 * divisor)
    return rounded if number >= 0 else -rounded


def _cast_literal(literal: TypedLiteral, common: Type, settings: SessionSettings) -> Any:
    """Cast a literal to the common type, and return the key of the result in that type.

    The key of a text is the text itself. Return None if the result is null.

    Raises:
        LiteralError: Spark would raise an error on every event, or the literal is not supported.
    """
    if literal.value is None:
        return None
    if literal.type == STRING and common != STRING:
        value = _cast_from_text(literal.value, common, settings)
        if value is None and settings.ansi:
            excerpt = literal.value if len(literal.value) <= 40 else literal.value[:40] + "…"
            raise LiteralError(
                f"{excerpt!r} cannot be read as {common}: Spark would raise an error on every "
                "event; " + casts.literal_hint(common)
            )
        return value
    if common == STRING:
        return _cast_to_text(literal, settings)
    if common.is_fractional:
        return _encode_float(literal.value, common)
    if common.is_decimal:
        scaled = casts.rescale_decimal(Decimal(literal.value), common)
        return None if scaled is None else int(scaled.scaleb(common.scale, casts.EXACT_CONTEXT))
    if common == TIMESTAMP and literal.type == DATE:
        return casts.start_of_day(literal.value, settings)
    if common == TIMESTAMP and literal.type == TIMESTAMP_NTZ:
        return casts.local_to_utc(literal.value, settings)
    if common == TIMESTAMP_NTZ and literal.type == TIMESTAMP:
        return casts.utc_to_local(literal.value, settings)
    return _to_micros(literal) if common == TIMESTAMP_NTZ else int(literal.value)


def _to_micros(literal: TypedLiteral) -> int:
    """Return a date or local time in microseconds since 1970."""
    return int(literal.value) * (casts.DAY_US if literal.type == DATE else 1)


def _cast_from_text(text: str, common: Type, settings: SessionSettings) -> int | None:
    """Cast a text to the common type, and return the key of the result in that type.

    Return None if Spark's cast fails.
    """
    if common.is_fractional:
        number = casts.to_double(text)
        return None if number is None else _encode_float(number, common)
    if common.is_decimal:
        scaled = casts.to_decimal(text, common)
        return None if scaled is None else int(scaled.scaleb(common.scale, casts.EXACT_CONTEXT))
    if common.is_integral:
        return casts.to_integer(text, _WIDTH[common.name], settings.ansi)
    if common == BOOLEAN:
        return casts.to_boolean(text)
    if common == DATE:
        return casts.to_date(text)
    return (
        casts.to_timestamp_ntz(text, settings)
        if common == TIMESTAMP_NTZ
        else casts.to_timestamp(text, settings)
    )


def _cast_to_text(literal: TypedLiteral, settings: SessionSettings) -> str:
    """Return a literal as the text to which Spark casts it."""
    if literal.type == STRING:
        return str(literal.value)
    if literal.type.is_integral:
        return str(literal.value)
    if literal.type.is_decimal:
        return str(literal.value)
    if literal.type == DATE:
        return format_day(literal.value)
    if literal.type.is_datetime:
        local = literal.value
        if literal.type == TIMESTAMP:
            local = casts.utc_to_local(local, settings)
        return format_time(local).rstrip("0").removesuffix(".")
    raise LiteralError(
        f"a list with both texts and values of type {literal.type} is not supported; write all "
        "values in quotes, or none"
    )
