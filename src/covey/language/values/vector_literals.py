"""Decoding of literal vectors: `CAST(array(0.1, 0.2) AS ARRAY<FLOAT>)` or `array(0.1F, 0.2F)`."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from covey.language.values import casts
from covey.language.values.literals import (
    LiteralError,
    TypedLiteral,
    decode_literal,
    round_to_float32,
    split_list,
)
from covey.space.types import DOUBLE, FLOAT, decimal_type

__all__ = ["decode_vector"]

_PLAIN = frozenset("0123456789.,+- ()")


def decode_vector(raw: str, length: int, is_cast: bool, ansi: bool) -> NDArray[np.float32]:
    """Return the vector of a list of literals, rounded to float32 exactly as Spark does.

    Args:
        raw: the list as written.
        length: the length of the attribute's vectors.
        is_cast: whether the list is the argument of a CAST to ARRAY<FLOAT>.
        ansi: whether Spark's ANSI mode is on.

    Raises:
        LiteralError: the list does not have this length, or Spark does not accept it as a vector.

    >>> decode_vector("(0.1, 2)", 2, True, True)
    array([0.1, 2. ], dtype=float32)
    """
    is_plain = is_cast and _PLAIN.issuperset(raw)
    count = raw.count(",") + 1 if is_plain else len(split_list(raw))
    if count != length:
        raise LiteralError(
            f"this vector has {count} numbers, but the vectors of the attribute have {length}; "
            f"write {length} numbers"
        )
    return _decode_plain(raw) if is_plain else _decode_exactly(raw, is_cast, ansi)


def _decode_plain(raw: str) -> NDArray[np.float32]:
    """Return the vector of numbers without exponent or suffix.

    Each number is rounded once, from decimal to float32.
    """
    words = raw.strip("()").replace(" ", "").split(",")
    whole_digits = max(len(word.lstrip("+-").partition(".")[0]) for word in words)
    scale = max(len(word.partition(".")[2]) for word in words)
    if whole_digits + scale > 38:
        return _decode_exactly(raw, True, True)
    doubles = np.array(words, np.float64)
    with np.errstate(over="ignore"):
        singles = doubles.astype(np.float32)
    # A double half-way between two floats may be a rounded number itself: round from the decimal.
    for i in np.flatnonzero(doubles.view(np.uint64) & 0x1FFFFFFF == 0x10000000):
        singles[i] = round_to_float32(Decimal(words[i]))
    return singles


def _decode_exactly(raw: str, is_cast: bool, ansi: bool) -> NDArray[np.float32]:
    """Return the vector of any list of literals, decoded one by one."""
    typed = [decode_literal(_strip_after_sign(word)) for word in split_list(raw)]
    if not all(literal.type.is_numeric for literal in typed):
        raise LiteralError(
            "a vector may contain only numbers; write a number for every other value"
        )
    if not is_cast:
        floats = all(t.type == FLOAT or (not ansi and t.type.is_integral) for t in typed)
        if not floats or not any(t.type == FLOAT for t in typed):
            raise LiteralError(
                "Spark takes only floats here; write CAST(array(…) AS ARRAY<FLOAT>), or F after "
                "each number, as in 0.1F"
            )
    return np.array(
        [_cast_to_float32(literal, _find_element_type(typed)) for literal in typed], np.float32
    )


def _strip_after_sign(word: str) -> str:
    """Return a number without the blanks after its sign."""
    return word[0] + word[1:].lstrip() if word[0] in "+-" else word


def _find_element_type(literals: list[TypedLiteral]) -> tuple[bool, int]:
    """Return the type to which Spark first casts all elements, as two values.

    The first value says whether this type is double. If not, it is a decimal type, and the second
    value is its scale.
    """
    if any(literal.type in (DOUBLE, FLOAT) for literal in literals):
        return True, 0
    decimals = [t.type if t.type.is_decimal else decimal_type(20, 0) for t in literals]
    scale = max(t.scale for t in decimals)
    whole_digits = max(t.precision - t.scale for t in decimals)
    return False, max(0, scale - max(0, whole_digits + scale - 38))


def _cast_to_float32(literal: TypedLiteral, common: tuple[bool, int]) -> np.float32:
    """Return a literal as float32 after a cast to the type that `_find_element_type` returns."""
    through_double, scale = common
    if through_double:
        return np.float32(float(literal.value))
    exact = casts.rescale_decimal(Decimal(literal.value), decimal_type(38, scale))
    return round_to_float32(Decimal(literal.value) if exact is None else exact)
