"""What workers made of each batch: notifications, pairs proposed for them, dead letters, errors.

An accumulator of Spark's brings it to the driver with the end of each task: to count rows as they
are written would cost Java as much again as to write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from pyspark import SparkContext
from pyspark.accumulators import AccumulatorParam

__all__ = ["MAX_NAMED_SUBSCRIPTIONS", "CountsAccumulator", "TaskCounts", "pop_until"]

V = TypeVar("V")

MAX_NAMED_SUBSCRIPTIONS = 100


class TaskCounts(NamedTuple):
    """What was made of some events."""

    notifications: int = 0
    candidates: int = 0
    dead_letters: int = 0
    errors: int = 0
    raising_subscriptions: tuple[str, ...] = ()
    """Ids of subscriptions on which Spark raised: at most `MAX_NAMED_SUBSCRIPTIONS`."""

    def combine(self, other: TaskCounts) -> TaskCounts:
        """Both together."""
        return TaskCounts(
            self.notifications + other.notifications,
            self.candidates + other.candidates,
            self.dead_letters + other.dead_letters,
            self.errors + other.errors,
            tuple(
                sorted({*self.raising_subscriptions, *other.raising_subscriptions})[
                    :MAX_NAMED_SUBSCRIPTIONS
                ]
            ),
        )


class _CountsByBatchParam(AccumulatorParam[dict[int, TaskCounts]]):
    def zero(self, value: dict[int, TaskCounts]) -> dict[int, TaskCounts]:
        return {}

    def addInPlace(
        self, value1: dict[int, TaskCounts], value2: Mapping[int, TaskCounts]
    ) -> dict[int, TaskCounts]:
        for batch, made in value2.items():
            value1[batch] = value1.get(batch, TaskCounts()).combine(made)
        return value1


class CountsAccumulator:
    """Added to by workers, and taken from by the driver."""

    def __init__(self, context: SparkContext) -> None:
        self._accumulator = context.accumulator(dict[int, TaskCounts](), _CountsByBatchParam())

    def add(self, batch: int, task_counts: TaskCounts) -> None:
        """In a worker: what a task made; a task that is run again counts once."""
        self._accumulator.add({batch: task_counts})

    def pop_batch(self, batch: int) -> TaskCounts | None:
        """In the driver: what was made of a batch, once; what is older is forgotten."""
        return pop_until(self._accumulator.value, batch)


def pop_until(by_batch: dict[int, V], batch: int) -> V | None:
    """What is known of a batch, once; what is older is forgotten. Others may add meanwhile.

    >>> known = {6: "a", 7: "b", 8: "c"}
    >>> pop_until(known, 7), known
    ('b', {8: 'c'})
    """
    found = by_batch.pop(batch, None)
    for number in [number for number in list(by_batch) if number < batch]:
        del by_batch[number]
    return found
