"""Regions and events as plain arrays: float64 for intervals, integers for texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.scalars import Scalars
from covey.space import Events
from covey.space.events import ScalarColumn
from covey.space.keys import Keys, decode_floats
from covey.space.types import DOUBLE

__all__ = ["UNKNOWN", "boxes", "column", "numbered", "numbers_of", "points", "scalars"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNKNOWN = -1
"""Number of a text that has no other number."""


def boxes(regions: Regions, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Return the lower and upper ends of regions, one row each and one column per attribute.

    An end that a region does not have is infinite.
    """
    shape = (len(regions), len(names))
    lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
    for k, name in enumerate(names):
        rows, batch = scalars(regions, name)
        lower[rows, k] = decode_floats(batch.lower, DOUBLE)
        upper[rows, k] = np.nan_to_num(
            decode_floats(batch.upper, DOUBLE), nan=np.inf, posinf=np.inf
        )
    return lower, upper


def points(events: Events, names: Sequence[str]) -> Floats:
    """Return the given attributes of events, one row per event and one column per attribute.

    In these workloads, no event has a null or NaN in such an attribute.
    """
    columns = [decode_floats(column(events, name).keys, DOUBLE) for name in names]
    return np.stack(columns, axis=1, dtype=np.float64)


def scalars(regions: Regions, name: str) -> tuple[Ints, Scalars]:
    """Return the rows of the regions that constrain a scalar attribute, and their constraints."""
    constraints = regions.constraints[name]
    assert isinstance(constraints.batch, Scalars)
    return constraints.rows, constraints.batch


def column(events: Events, name: str) -> ScalarColumn:
    """Return the values of a scalar attribute."""
    values = events[name]
    assert isinstance(values, ScalarColumn)
    return values


def numbered(texts: Keys, numbers: dict[str, int]) -> Ints:
    """Return the number of each text; a new text gets the next number in `numbers`.

    >>> known = {"b": 0}
    >>> numbered(np.array(["a", "b"], object), known).tolist(), known
    ([1, 0], {'b': 0, 'a': 1})
    """
    values: list[Any] = texts.tolist()
    return np.fromiter((numbers.setdefault(t, len(numbers)) for t in values), np.int64, len(values))


def numbers_of(texts: Keys, numbers: dict[str, int]) -> Ints:
    """Return the number of each text, or `UNKNOWN`."""
    values: list[Any] = texts.tolist()
    return np.fromiter((numbers.get(text, UNKNOWN) for text in values), np.int64, len(values))
