"""What Spark's workers do of a plan: functions of `mapInArrow` over subscribers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.plan import Plan, Problem, Subscribers
from covey.plan.capacity import find_leaf_of_rank, map_to_leaf_sets
from covey.plan.groups import Bits, find_covering_leaves, find_leaves_within_delay
from covey.plan.model import BrokerFilters

__all__ = [
    "AssignBrokerTask",
    "FindUncoveredTask",
    "LeafSetTask",
    "SubscriberColumns",
    "VerifyTask",
    "read_subscribers",
]

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class SubscriberColumns:
    """The columns of a table that say where subscribers are, and what they want."""

    position: tuple[str, ...]
    lower: tuple[str, ...]
    upper: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.position, *self.lower, *self.upper)

    @property
    def schema(self) -> str:
        """As Spark writes it."""
        return ", ".join(f"`{name}` double" for name in self.names)


def read_subscribers(rows: pa.Table | pa.RecordBatch, columns: SubscriberColumns) -> Subscribers:
    """The subscribers in some rows."""
    ends = (
        np.stack([np.asarray(rows.column(name), np.float64) for name in names], axis=1)
        for names in (columns.position, columns.lower, columns.upper)
    )
    return Subscribers.from_arrays(*ends)


@dataclass(frozen=True)
class _SubscriberTask:
    columns: SubscriberColumns
    problem: Problem
    filters: BrokerFilters

    def __getstate__(self) -> dict[str, object]:
        """Without the sample, which workers do not need."""
        one = self.problem.take(np.arange(1))
        return {**self.__dict__, "problem": one}

    def find_batch_leaves(self, batch: pa.RecordBatch) -> Bits:
        """The leaves that can serve each row."""
        here = replace(self.problem, subscribers=read_subscribers(batch, self.columns))
        return find_covering_leaves(
            find_leaves_within_delay(here), here.subscribers, self.filters, self.problem.tree.leaves
        )


@dataclass(frozen=True)
class FindUncoveredTask(_SubscriberTask):
    """The rows whom no leaf can serve."""

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            if batch.num_rows:
                without = pa.array(~self.find_batch_leaves(batch).any(axis=1))
                found = batch.filter(without)
                doubles = [found.column(name).cast(pa.float64()) for name in self.columns.names]
                yield pa.RecordBatch.from_arrays(doubles, list(self.columns.names))


@dataclass(frozen=True)
class LeafSetTask(_SubscriberTask):
    """Rows with the number of the set of leaves that they are counted to."""

    leaf_sets: Bits

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            if batch.num_rows:
                number = map_to_leaf_sets(self.find_batch_leaves(batch), self.leaf_sets)
                yield _append_column(batch, number)


@dataclass(frozen=True)
class AssignBrokerTask:
    """Rows with the broker of their set and rank; -1 where the leaves of the set are full."""

    quota_ends: NDArray[np.int64]
    leaves: NDArray[np.int64]
    set_col: str
    rank_col: str
    broker_col: str

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            sets = np.asarray(batch.column(self.set_col))
            rank = np.asarray(batch.column(self.rank_col))
            brokers = np.append(self.leaves, -1)[
                find_leaf_of_rank(self.quota_ends, sets, rank)
            ].astype(np.int32)
            yield _append_column(
                batch.drop_columns([self.set_col, self.rank_col]), brokers, self.broker_col
            )


@dataclass(frozen=True)
class VerifyTask(_SubscriberTask):
    """How many rows wait too long, and how many want what their broker does not get."""

    broker_col: str

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            if not batch.num_rows:
                continue
            here = replace(self.problem, subscribers=read_subscribers(batch, self.columns))
            assignment = np.asarray(batch.column(self.broker_col)).astype(np.int32)
            found = Plan(here, assignment, self.filters).verify()
            yield pa.RecordBatch.from_pydict(
                {"late": [found.too_far], "uncovered": [found.uncovered]}
            )


def _append_column(
    batch: pa.RecordBatch, values: NDArray[np.int32], name: str = "_"
) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [*batch.columns, pa.array(values, pa.int32())], [*batch.schema.names, name]
    )
