"""Numbers as people have them: lists, arrays, columns of frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from covey.errors import InvalidArgumentError

__all__ = ["as_numeric_array"]


def as_numeric_array(
    name: str, values: ArrayLike, *, dtype: DTypeLike = np.float64
) -> NDArray[Any]:
    """What numpy reads of an argument; if it cannot, an error says which argument it was.

    >>> as_numeric_array("parents", ["-1", 0.0])
    array([-1.,  0.])
    """
    try:
        return np.asarray(values, dtype)
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"{name} are no table of numbers: rows are of different lengths, or something in them "
            "is no number"
        ) from None
