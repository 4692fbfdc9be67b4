"""Values as Spark SQL literals that Spark reads back as exactly the same values.

All forms of literals that workloads write are here. Tested on Spark 4.2: a decimal literal that is
compared with a float compares as a double, so `<= 0.1` excludes the float32 nearest to 0.1; hence
the suffixes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.errors import SpaceError
from covey.space.keys import key_float
from covey.space.types import Type

__all__ = ["float_texts", "scalar_texts", "vector_texts"]


def scalar_texts(keys: NDArray[np.int64], type_: Type) -> list[str]:
    """Literals of numbers, given by their keys.

    >>> from covey.space.types import INT, decimal
    >>> scalar_texts(np.array([5, -1205]), decimal(10, 2)), scalar_texts(np.array([7]), INT)
    (['0.05', '-12.05'], ['7'])
    """
    if type_.name == "double":
        return [f"{number!r}D" for number in key_float(keys, type_).tolist()]
    if type_.is_integral:
        return [str(key) for key in keys.tolist()]
    if type_.is_decimal and type_.scale > 0:
        return [_decimal(key, type_.scale) for key in keys.tolist()]
    raise SpaceError(f"workloads write no literals of type {type_}")


def float_texts(numbers: NDArray[np.float32]) -> list[str]:
    """Float literals: the shortest decimals that read back as the same float32.

    >>> float_texts(np.float32([0.1, 1.5e-7]))
    ['0.1F', '0.00000015F']
    """
    return [f"{decimal}F" for decimal in _shortest(numbers)]


def vector_texts(matrix: NDArray[np.float32]) -> list[str]:
    """Each row as an `array<float>`.

    >>> vector_texts(np.float32([[0.1, -2]]))
    ['CAST(array(0.1, -2.0) AS ARRAY<FLOAT>)']
    """
    length, decimals = matrix.shape[1], _shortest(matrix.reshape(-1))
    return [
        f"CAST(array({', '.join(decimals[i * length : (i + 1) * length])}) AS ARRAY<FLOAT>)"
        for i in range(len(matrix))
    ]


def _decimal(unscaled: int, scale: int) -> str:
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    return f"{'-' if unscaled < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def _shortest(numbers: NDArray[np.float32]) -> list[str]:
    """Shortest decimals; Arrow writes them fast, and the few it writes otherwise NumPy does."""
    written: list[Any] = pa.array(numbers).cast(pa.string()).to_pylist()
    return [
        decimal
        if "." in decimal and "e" not in decimal
        else np.format_float_positional(number, unique=True, trim="0")
        for decimal, number in zip(written, numbers, strict=True)
    ]
