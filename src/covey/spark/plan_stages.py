"""What Spark's workers do of a plan: functions of `mapInArrow` over subscribers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.plan import Plan, Problem, Subscribers
from covey.plan.filters import Filters
from covey.plan.placing import leaf_at, set_of_each
from covey.plan.reach import Bits, near_leaves, reached

__all__ = ["Columns", "Missed", "Numbered", "Placed", "Verified", "subscribers_of"]

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Columns:
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


def subscribers_of(rows: pa.Table | pa.RecordBatch, columns: Columns) -> Subscribers:
    """The subscribers in some rows."""
    ends = (
        np.stack([np.asarray(rows.column(name), np.float64) for name in names], axis=1)
        for names in (columns.position, columns.lower, columns.upper)
    )
    return Subscribers.of(*ends)


@dataclass(frozen=True)
class _Stage:
    columns: Columns
    problem: Problem
    filters: Filters

    def __getstate__(self) -> dict[str, object]:
        """Without the sample, which workers do not need."""
        one = self.problem.take(np.arange(1))
        return {**self.__dict__, "problem": one}

    def reached(self, batch: pa.RecordBatch) -> Bits:
        """The leaves that can serve each row."""
        here = replace(self.problem, subscribers=subscribers_of(batch, self.columns))
        return reached(near_leaves(here), here.subscribers, self.filters, self.problem.tree.leaves)


@dataclass(frozen=True)
class Missed(_Stage):
    """The rows whom no leaf can serve."""

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            if batch.num_rows:
                without = pa.array(~self.reached(batch).any(axis=1))
                found = batch.filter(without)
                doubles = [found.column(name).cast(pa.float64()) for name in self.columns.names]
                yield pa.RecordBatch.from_arrays(doubles, list(self.columns.names))


@dataclass(frozen=True)
class Numbered(_Stage):
    """Rows with the number of the set of leaves that they are counted to."""

    sets: Bits

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            if batch.num_rows:
                number = set_of_each(self.reached(batch), self.sets)
                yield _added(batch, number)


@dataclass(frozen=True)
class Placed:
    """Rows with the broker of their set and rank; -1 where the leaves of the set are full."""

    ends: NDArray[np.int64]
    leaves: NDArray[np.int64]
    set_name: str
    rank_name: str
    name: str

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            sets = np.asarray(batch.column(self.set_name))
            rank = np.asarray(batch.column(self.rank_name))
            brokers = np.append(self.leaves, -1)[leaf_at(self.ends, sets, rank)].astype(np.int32)
            yield _added(batch.drop_columns([self.set_name, self.rank_name]), brokers, self.name)


@dataclass(frozen=True)
class Verified(_Stage):
    """How many rows wait too long, and how many want what their broker does not get."""

    name: str

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            if not batch.num_rows:
                continue
            here = replace(self.problem, subscribers=subscribers_of(batch, self.columns))
            assignment = np.asarray(batch.column(self.name)).astype(np.int32)
            found = Plan(here, assignment, self.filters).verify()
            yield pa.RecordBatch.from_pydict({"late": [found.late], "uncovered": [found.uncovered]})


def _added(batch: pa.RecordBatch, values: NDArray[np.int32], name: str = "_") -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [*batch.columns, pa.array(values, pa.int32())], [*batch.schema.names, name]
    )
