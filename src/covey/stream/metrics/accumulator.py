"""Counts that workers send to the driver for each batch: notifications, candidates, dead letters.

A Spark accumulator transports the counts of a task when the task ends. If Spark counted the output
rows instead, that would take Java as much time as writing the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from pyspark import SparkContext
from pyspark.accumulators import AccumulatorParam

__all__ = ["MAX_NAMED_SUBSCRIPTIONS", "CountsAccumulator", "TaskCounts", "pop_until"]

V = TypeVar("V")

MAX_NAMED_SUBSCRIPTIONS = 100
"""The largest number of subscriptions with errors whose ids are reported for a batch."""


class TaskCounts(NamedTuple):
    """Numbers of notifications, candidates, dead letters and errors, of a task or a batch."""

    notifications: int = 0
    candidates: int = 0
    dead_letters: int = 0
    errors: int = 0
    raising_subscriptions: tuple[str, ...] = ()
    """Ids of subscriptions with errors, at most `MAX_NAMED_SUBSCRIPTIONS`.

    An error is an undecided pair: an expression of the subscription raises an error on the event.
    """

    def combine(self, other: TaskCounts) -> TaskCounts:
        """Return the sums of these and `other` counts, with the ids of both.

        At most `MAX_NAMED_SUBSCRIPTIONS` ids remain: the first ones in sorted order.
        """
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
    """Zero and addition that Spark's accumulator uses for counts by batch number."""

    def zero(self, value: dict[int, TaskCounts]) -> dict[int, TaskCounts]:
        return {}

    def addInPlace(
        self, value1: dict[int, TaskCounts], value2: Mapping[int, TaskCounts]
    ) -> dict[int, TaskCounts]:
        for batch, task_counts in value2.items():
            value1[batch] = value1.get(batch, TaskCounts()).combine(task_counts)
        return value1


class CountsAccumulator:
    """Accumulator of counts by batch number: workers add to it, and the driver reads it."""

    def __init__(self, context: SparkContext) -> None:
        self._accumulator = context.accumulator(dict[int, TaskCounts](), _CountsByBatchParam())

    def add(self, batch: int, task_counts: TaskCounts) -> None:
        """Add the counts of a task, in a worker.

        A task that Spark runs again in the same job is counted once.
        """
        self._accumulator.add({batch: task_counts})

    def pop_batch(self, batch: int) -> TaskCounts | None:
        """Remove and return the counts of a batch, on the driver; None if workers reported none.

        The counts of earlier batches are deleted.
        """
        return pop_until(self._accumulator.value, batch)


def pop_until(by_batch: dict[int, V], batch: int) -> V | None:
    """Remove and return the value of a batch, or None if there is none.

    The values of earlier batches are deleted. Another thread may add values meanwhile.

    >>> values = {6: "a", 7: "b", 8: "c"}
    >>> pop_until(values, 7), values
    ('b', {8: 'c'})
    """
    value = by_batch.pop(batch, None)
    for number in [number for number in list(by_batch) if number < batch]:
        del by_batch[number]
    return value
