"""Numbers as people have them: lists, arrays, columns of frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from covey.errors import ValueRefused

__all__ = ["numbers"]


def numbers(what: str, given: ArrayLike, kind: DTypeLike = np.float64) -> NDArray[Any]:
    """What numpy reads of an argument; if it cannot, an error says which argument it was.

    >>> numbers("parents", ["-1", 0.0])
    array([-1.,  0.])
    """
    try:
        return np.asarray(given, kind)
    except (TypeError, ValueError):
        raise ValueRefused(
            f"{what} are no table of numbers: rows are of different lengths, or something in them "
            "is no number"
        ) from None
