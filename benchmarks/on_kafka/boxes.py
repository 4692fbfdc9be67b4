"""Kafka messages of subscriptions to boxes in four dimensions, of changes, and of events.

Boxes are cubes in [0, 1)^4. The more boxes there are, the shorter are their sides, so that a
uniformly distributed event is always in ten of them on average.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["MATCHES", "NAMES", "changed", "events", "identifier", "side", "subscriptions"]

NAMES = ("a", "b", "c", "d")
MATCHES = 10  # boxes that contain an event, on average
_PREDICATE = " AND ".join(f"{name} >= %.6f AND {name} < %.6f" for name in NAMES)
_SUBSCRIPTION = f'{{"predicate":"{_PREDICATE}"}}'
_EVENT = "{" + ",".join(f'"{name}":%r' for name in NAMES) + "}"


def side(count: int) -> float:
    """Return the length of the sides of each of `count` boxes.

    >>> round(1_000_000 * side(1_000_000) ** 4, 9)
    10.0
    """
    return float((MATCHES / count) ** (1 / len(NAMES)))


def identifier(number: int) -> bytes:
    """Return the id of the subscription of a number.

    >>> identifier(17)
    b's000017'
    """
    return b"s%06d" % number


def subscriptions(count: int, of: int, random: np.random.Generator) -> list[bytes]:
    """Return `count` values of the control topic, each with a random box.

    `of` is the number of all subscriptions, which determines the side of a box.
    """
    length = side(of)
    lows = random.random((count, len(NAMES))) * (1 - length)
    edges = np.empty((count, 2 * len(NAMES)))
    edges[:, 0::2], edges[:, 1::2] = lows, lows + length
    return [(_SUBSCRIPTION % tuple(row)).encode() for row in edges.tolist()]


def changed(count: int, of: int, random: np.random.Generator) -> list[bytes]:
    """Return the ids of `count` subscriptions to change, drawn from all `of` subscriptions."""
    numbers: NDArray[np.int64] = random.integers(0, of, count)
    return [identifier(number) for number in numbers.tolist()]


def events(count: int, random: np.random.Generator) -> list[bytes]:
    """Return `count` values of the topic of events.

    >>> list(__import__("json").loads(events(1, np.random.default_rng(1))[0]))
    ['a', 'b', 'c', 'd']
    """
    return [(_EVENT % tuple(row)).encode() for row in random.random((count, len(NAMES))).tolist()]
