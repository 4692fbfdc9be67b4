"""Spark SQL literals of numbers and vectors: Spark reads them as exactly the original values.

Workloads write all their number literals with these functions. Float literals have the suffix F.
Without this suffix, Spark (tested with 4.2) compares a float with a decimal literal as doubles, so
that `<= 0.1` excludes the float32 nearest to 0.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.errors import SchemaError
from covey.space.keys import decode_floats
from covey.space.types import Type

__all__ = ["format_floats", "format_scalars", "format_vectors"]


def format_scalars(keys: NDArray[np.int64], type_: Type) -> list[str]:
    """Return literals for the keys of doubles, integral numbers, or decimals of positive scale.

    Raises:
        SchemaError: if `type_` is none of these.

    >>> from covey.space.types import INT, decimal_type
    >>> format_scalars(np.array([5, -1205]), decimal_type(10, 2))
    ['0.05', '-12.05']
    >>> format_scalars(np.array([7]), INT)
    ['7']
    """
    if type_.name == "double":
        return [f"{number!r}D" for number in decode_floats(keys, type_).tolist()]
    if type_.is_integral:
        return [str(key) for key in keys.tolist()]
    if type_.is_decimal and type_.scale > 0:
        return [_format_decimal(key, type_.scale) for key in keys.tolist()]
    raise SchemaError(
        f"workloads cannot write literals of type {type_}: use double, an integral type, or a "
        "decimal type with a scale of at least 1"
    )


def format_floats(numbers: NDArray[np.float32]) -> list[str]:
    """Return float literals: the shortest decimal that Spark reads as the same float32, then an F.

    >>> format_floats(np.float32([0.1, 1.5e-7]))
    ['0.1F', '0.00000015F']
    """
    return [f"{decimal}F" for decimal in _format_shortest(numbers)]


def format_vectors(matrix: NDArray[np.float32]) -> list[str]:
    """Return each row of a matrix as a literal of type `array<float>`.

    >>> format_vectors(np.float32([[0.1, -2]]))
    ['CAST(array(0.1, -2.0) AS ARRAY<FLOAT>)']
    """
    length, decimals = matrix.shape[1], _format_shortest(matrix.reshape(-1))
    return [
        f"CAST(array({', '.join(decimals[i * length : (i + 1) * length])}) AS ARRAY<FLOAT>)"
        for i in range(len(matrix))
    ]


def _format_decimal(unscaled: int, scale: int) -> str:
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    return f"{'-' if unscaled < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def _format_shortest(numbers: NDArray[np.float32]) -> list[str]:
    """Return the shortest decimals of numbers, without exponents.

    Arrow writes most decimals, because it is fast. NumPy writes those few that Arrow would write
    with an exponent or without a decimal point.
    """
    arrow_texts: list[Any] = pa.array(numbers).cast(pa.string()).to_pylist()
    return [
        decimal
        if "." in decimal and "e" not in decimal
        else np.format_float_positional(number, unique=True, trim="0")
        for decimal, number in zip(arrow_texts, numbers, strict=True)
    ]
