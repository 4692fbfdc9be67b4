"""Tasks of a distributed plan: functions of `mapInArrow` over rows of subscribers."""

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
    "BatchLeaves",
    "FindUncoveredTask",
    "LeafSetTask",
    "SubscriberColumns",
    "VerifyTask",
    "read_subscribers",
]

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class SubscriberColumns:
    """Names of the columns of subscribers.

    Args:
        position: columns with the coordinates of positions.
        lower: columns with the lower ends of boxes, one for each dimension.
        upper: columns with the upper ends of boxes, in the same order.
    """

    position: tuple[str, ...]
    lower: tuple[str, ...]
    upper: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns: positions, lower ends, upper ends."""
        return (*self.position, *self.lower, *self.upper)

    @property
    def schema(self) -> str:
        """Schema of these columns as doubles, in Spark's DDL format."""
        return ", ".join(f"`{name}` double" for name in self.names)


def read_subscribers(rows: pa.Table | pa.RecordBatch, columns: SubscriberColumns) -> Subscribers:
    """Return the rows as subscribers."""
    ends = (
        np.stack([np.asarray(rows.column(name), np.float64) for name in names], axis=1)
        for names in (columns.position, columns.lower, columns.upper)
    )
    return Subscribers.from_arrays(*ends)


@dataclass(frozen=True)
class BatchLeaves:
    """Finder of the leaves that can serve each row of a batch.

    A leaf can serve a subscriber if the delay is within the limit, and its filter covers the box.
    """

    columns: SubscriberColumns
    problem: Problem
    filters: BrokerFilters

    def __getstate__(self) -> dict[str, object]:
        """Return the state to pickle, with only one subscriber of the sample.

        Workers do not read the subscribers of the sample.
        """
        one = self.problem.take(np.arange(1))
        return {**self.__dict__, "problem": one}

    def read_problem(self, batch: pa.RecordBatch) -> Problem:
        """Return the problem with the subscribers of a batch instead of the sample."""
        return replace(self.problem, subscribers=read_subscribers(batch, self.columns))

    def find(self, batch: pa.RecordBatch) -> Bits:
        """Return for each row the set of leaves that can serve it, as bits."""
        batch_problem = self.read_problem(batch)
        return find_covering_leaves(
            find_leaves_within_delay(batch_problem), batch_problem.subscribers, self.filters,
            self.problem.tree.leaves,
        )  # fmt: skip


@dataclass(frozen=True)
class FindUncoveredTask:
    """Function of a `mapInArrow` that yields positions and boxes of rows that no leaf can serve."""

    leaves: BatchLeaves

    def __call__(self, batches: Batches) -> Batches:
        names = self.leaves.columns.names
        for batch in batches:
            if batch.num_rows:
                uncovered = batch.filter(pa.array(~self.leaves.find(batch).any(axis=1)))
                doubles = [uncovered.column(name).cast(pa.float64()) for name in names]
                yield pa.RecordBatch.from_arrays(doubles, list(names))


@dataclass(frozen=True)
class LeafSetTask:
    """Function of a `mapInArrow` that appends the number of a leaf set to each row.

    Every leaf of this set can serve the row. The number is the position in `leaf_sets`; -1 if no
    leaf can serve the row.
    """

    leaves: BatchLeaves
    leaf_sets: Bits

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            if batch.num_rows:
                number = map_to_leaf_sets(self.leaves.find(batch), self.leaf_sets)
                yield _append_column(batch, number)


@dataclass(frozen=True)
class AssignBrokerTask:
    """Function of a `mapInArrow` that assigns a broker to each row.

    The task replaces the columns for leaf set and rank by a column with the broker of the row, or
    with -1 if the quotas of the leaf set are used up. The rank is the number of earlier rows with
    the same leaf set.

    Args:
        quota_ends: for each leaf set (row) the quotas of the leaves (columns), summed up from the
            first leaf to this one.
        leaves: the broker of each leaf.
        set_col: column with the position of the row's leaf set in `quota_ends`.
        rank_col: column with the rank.
        broker_col: name of the new column.
    """

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
class VerifyTask:
    """Function of a `mapInArrow` that counts violations of a plan.

    There is one output row for each batch. `late` is the number of subscribers whose delay is too
    long. `uncovered` is the number of subscribers whose box the filter of their broker does not
    cover.
    """

    leaves: BatchLeaves
    broker_col: str

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            if not batch.num_rows:
                continue
            assignment = np.asarray(batch.column(self.broker_col)).astype(np.int32)
            problem, filters = self.leaves.read_problem(batch), self.leaves.filters
            violations = Plan(problem, assignment, filters).verify()
            yield pa.RecordBatch.from_pydict(
                {"late": [violations.too_far], "uncovered": [violations.uncovered]}
            )


def _append_column(
    batch: pa.RecordBatch, values: NDArray[np.int32], name: str = "_"
) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [*batch.columns, pa.array(values, pa.int32())], [*batch.schema.names, name]
    )
