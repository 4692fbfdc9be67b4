"""Regions and events as plain arrays: doubles for intervals, numbers for texts."""

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


def boxes(regions: Regions, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Lower and upper ends of doubles, a row a region; infinite where there is none."""
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
    """Doubles, a row an event; no event of these workloads has a null or NaN in them."""
    keys = [column(events, name).keys for name in names]
    return np.stack([decode_floats(each, DOUBLE) for each in keys], axis=1, dtype=np.float64)


def scalars(regions: Regions, name: str) -> tuple[Ints, Scalars]:
    """The rows that constrain a scalar attribute, and how."""
    given = regions.constraints[name]
    assert isinstance(given.batch, Scalars)
    return given.rows, given.batch


def column(events: Events, name: str) -> ScalarColumn:
    """The values of a scalar attribute."""
    found = events[name]
    assert isinstance(found, ScalarColumn)
    return found


def numbered(texts: Keys, numbers: dict[str, int]) -> Ints:
    """Each text's number; a new text gets the next one.

    >>> known = {"b": 0}
    >>> numbered(np.array(["a", "b"], object), known).tolist(), known
    ([1, 0], {'b': 0, 'a': 1})
    """
    each: list[Any] = texts.tolist()
    return np.fromiter((numbers.setdefault(t, len(numbers)) for t in each), np.int64, len(each))


def numbers_of(texts: Keys, numbers: dict[str, int]) -> Ints:
    """Each text's number, `UNKNOWN` where it has none."""
    each: list[Any] = texts.tolist()
    return np.fromiter((numbers.get(text, UNKNOWN) for text in each), np.int64, len(each))
