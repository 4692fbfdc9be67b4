"""What workers made of each batch: notifications, pairs proposed for them, dead letters, errors.

An accumulator of Spark's brings it to the driver with the end of each task: to count rows as they
are written would cost Java as much again as to write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from pyspark import SparkContext
from pyspark.accumulators import AccumulatorParam

__all__ = ["MOST_NAMED", "Counts", "Made", "taken"]

V = TypeVar("V")

MOST_NAMED = 100


class Made(NamedTuple):
    """What was made of some events."""

    notifications: int = 0
    proposed: int = 0
    dead_letters: int = 0
    errors: int = 0
    raising: tuple[str, ...] = ()
    """Ids of subscriptions for which Spark raised on some event, at most `MOST_NAMED`."""

    def and_also(self, other: Made) -> Made:
        """Both together."""
        return Made(
            self.notifications + other.notifications,
            self.proposed + other.proposed,
            self.dead_letters + other.dead_letters,
            self.errors + other.errors,
            tuple(sorted({*self.raising, *other.raising})[:MOST_NAMED]),
        )


class _ByBatch(AccumulatorParam[dict[int, Made]]):
    def zero(self, value: dict[int, Made]) -> dict[int, Made]:
        return {}

    def addInPlace(self, value1: dict[int, Made], value2: Mapping[int, Made]) -> dict[int, Made]:
        for batch, made in value2.items():
            value1[batch] = value1.get(batch, Made()).and_also(made)
        return value1


class Counts:
    """Added to by workers, and taken from by the driver."""

    def __init__(self, context: SparkContext) -> None:
        self._by_batch = context.accumulator(dict[int, Made](), _ByBatch())

    def add(self, batch: int, made: Made) -> None:
        """In a worker: what a task made; a task that is run again counts once."""
        self._by_batch.add({batch: made})

    def taken(self, batch: int) -> Made | None:
        """In the driver: what was made of a batch, once; what is older is forgotten."""
        return taken(self._by_batch.value, batch)


def taken(known: dict[int, V], batch: int) -> V | None:
    """What is known of a batch, once; what is older is forgotten. Others may add meanwhile.

    >>> known = {6: "a", 7: "b", 8: "c"}
    >>> taken(known, 7), known
    ('b', {8: 'c'})
    """
    found = known.pop(batch, None)
    for number in [number for number in list(known) if number < batch]:
        del known[number]
    return found
