"""Subscribers of a table served by brokers: plans for as many as Spark can read.

Who is near to which leaf, whom filters miss, who goes where and whether all is kept to are stages
of Spark's; what the driver holds, searches and sends does not grow with the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType
from pyspark.sql.window import Window

from covey._argument_checks import check_arguments, check_range
from covey.errors import InvalidArgumentError
from covey.plan import BrokerTree, Problem, Violations
from covey.plan.capacity import (
    compute_leaf_quotas,
    find_all_covering_leaves,
    find_frequent_leaf_sets,
    make_room_for_unassigned,
)
from covey.plan.greedy_assignment import extend_assignment
from covey.plan.groups import find_leaves_within_delay
from covey.plan.local_search import SearchBudget, choose_step_count, search_sampled_filters
from covey.plan.model import BrokerFilters, count_not_nested
from covey.spark.planning.tasks import (
    AssignBrokerTask,
    FindUncoveredTask,
    LeafSetTask,
    SubscriberColumns,
    VerifyTask,
    read_subscribers,
)
from covey.spark.single_task import reraise_worker_errors
from covey.spark.worker_python import prepare_worker_python

__all__ = ["DistributedPlan", "assign_subscribers"]

_MAX_SEED = (1 << 63) - 1  # which Spark takes
_MOVABLE_PER_UNASSIGNED = 20  # rows that could move, for each that has no room
_SET_COL, _RANK_COL, BROKER_COL = "_covey_set", "_covey_rank", "broker"


@dataclass(frozen=True)
class DistributedPlan:
    """`assigned` has the rows of the table and the broker of each, in a column of that name.

    It is computed each time that it is asked for: keep it with `persist` if that is often.
    `sets` is how many sets of leaves the flow told apart: its size, whatever the table's.
    """

    problem: Problem
    filters: BrokerFilters
    assignment: DataFrame
    subscriber_count: int
    leaf_set_count: int
    columns: SubscriberColumns

    @property
    def bandwidth(self) -> float:
        """What comes to all brokers together."""
        return float(self.filters.compute_bandwidth(self.problem.event_sample).sum())

    def loads(self) -> NDArray[np.int64]:
        """How many subscribers each leaf serves. Cost: a pass over the table."""
        rows = self.assignment.groupBy(BROKER_COL).count().collect()
        found = {row[BROKER_COL]: row["count"] for row in rows}
        return np.array([found.get(leaf, 0) for leaf in self.problem.tree.leaves.tolist()])

    def verify(self) -> Violations:
        """Computes everything that a plan must keep to anew. Cost: two passes over the table."""
        stage = VerifyTask(self.columns, self.problem, self.filters, BROKER_COL)
        with reraise_worker_errors():
            parts = self.assignment.mapInArrow(stage, "late long, uncovered long").collect()
        most = self.problem.compute_capacities(self.problem.max_load, self.subscriber_count)
        return Violations(
            too_far=sum(part["late"] for part in parts),
            uncovered=sum(part["uncovered"] for part in parts),
            over_capacity=int(np.maximum(0, self.loads() - most).sum()),
            not_nested=count_not_nested(self.problem.tree, self.filters),
            too_many_rectangles=int(
                np.count_nonzero(self.filters.rectangle_counts > self.problem.max_rectangles)
            ),
        )


@check_arguments
def assign_subscribers(
    subscribers: DataFrame,
    tree: BrokerTree,
    *,
    position_cols: Sequence[str],
    lower_cols: Sequence[str],
    upper_cols: Sequence[str],
    id_col: str = "id",
    max_rectangles: int = 3,
    max_delay: float = 0.3,
    target_load: float = 1.5,
    max_load: float = 1.8,
    event_sample: NDArray[np.float64] | None = None,
    steps: int | None = None,
    sample_size: int = 50_000,
    seed: int = 0,
    progress: Callable[[float, float], None] | None = None,
) -> DistributedPlan:
    """A plan for the rows of a table: `position`, `lower` and `upper` name its columns.

    It is what `covey.plan.search` finds on a sample, spread to all. Ids are different. The table is
    read a few times, so it should be one that is the same each time.

    Cost: a search of so many steps, or of as many as `search` takes, on the driver; six passes over
    the table, of which one sorts it by the sets of leaves that can serve a row.
    """
    check_range("steps", 0 if steps is None else steps, 0)
    check_range("sample_size", sample_size, 1)
    check_range("seed", seed, 0, _MAX_SEED)
    columns = SubscriberColumns(tuple(position_cols), tuple(lower_cols), tuple(upper_cols))
    if not (columns.position and columns.lower and len(columns.lower) == len(columns.upper)):
        raise InvalidArgumentError(
            "position_cols and lower_cols must name a column at least, and upper_cols as many as "
            "lower_cols"
        )
    _check_columns(subscribers, [id_col, *columns.names])
    prepare_worker_python(subscribers.sparkSession)
    count = subscribers.count()
    chosen = _sample_rows(subscribers, id_col, seed, sample_size).select(*columns.names)
    some = Problem(
        tree,
        read_subscribers(chosen.toArrow(), columns),
        max_rectangles=max_rectangles,
        max_delay=max_delay,
        target_load=target_load,
        max_load=max_load,
        event_sample=event_sample,
    )
    missed = partial(_find_uncovered, subscribers, columns, some)
    effort = SearchBudget(
        choose_step_count(some) if steps is None else steps, seed=seed, progress=progress
    )
    filters = search_sampled_filters(some, count, missed, None, effort)
    still, most = missed(filters), some.compute_capacities(max_load, count)
    if still is not None:
        _, filters = extend_assignment(still, filters, 0 * most, most)
    sets = find_frequent_leaf_sets(
        find_all_covering_leaves(some, find_leaves_within_delay(some), filters), len(tree.leaves)
    )
    placed, loads = _assign_brokers(subscribers, id_col, LeafSetTask(columns, some, filters, sets))
    left = placed.where(F.col(BROKER_COL) < 0).select(id_col, BROKER_COL, *columns.names).toArrow()
    if left.num_rows:
        movable = max(sample_size, _MOVABLE_PER_UNASSIGNED * left.num_rows)
        others = _sample_rows(placed.where(F.col(BROKER_COL) >= 0), id_col, seed, movable)
        rows = pa.concat_tables([left, others.select(left.column_names).toArrow()])
        known, filters = _move_subscribers(rows, id_col, columns, some, filters, loads, most)
        placed = _join_brokers(placed, id_col, known)
    return DistributedPlan(some, filters, placed, count, len(sets), columns)


def _sample_rows(subscribers: DataFrame, id_col: str, seed: int, count: int) -> DataFrame:
    """So many rows, the same ones for the same seed."""
    return subscribers.orderBy(F.xxhash64(id_col, F.lit(seed))).limit(count)


def _find_uncovered(
    subscribers: DataFrame,
    columns: SubscriberColumns,
    sample_problem: Problem,
    filters: BrokerFilters,
) -> Problem | None:
    """The rows whom filters miss, if there are any."""
    stage = FindUncoveredTask(columns, sample_problem, filters)
    with reraise_worker_errors():
        found = subscribers.select(*columns.names).mapInArrow(stage, columns.schema).toArrow()
    return (
        replace(sample_problem, subscribers=read_subscribers(found, columns))
        if found.num_rows
        else None
    )


def _assign_brokers(
    subscribers: DataFrame, id_col: str, leaf_set_task: LeafSetTask
) -> tuple[DataFrame, NDArray[np.int64]]:
    """Rows with their brokers, or -1 where there is no room, and how many each leaf serves."""
    numbered = subscribers.mapInArrow(
        leaf_set_task, _schema_with_column(subscribers, f"{_SET_COL} int")
    )
    counts = np.zeros(len(leaf_set_task.leaf_sets), np.int64)
    with reraise_worker_errors():
        for number, many in numbered.groupBy(_SET_COL).count().collect():
            counts[number] = many
    quotas = compute_leaf_quotas(leaf_set_task.problem, leaf_set_task.leaf_sets, counts)
    rank = F.row_number().over(Window.partitionBy(_SET_COL).orderBy(id_col)) - 1
    leaves = leaf_set_task.problem.tree.leaves
    place = AssignBrokerTask(np.cumsum(quotas, axis=1), leaves, _SET_COL, _RANK_COL, BROKER_COL)
    ranked = numbered.withColumn(_RANK_COL, rank)
    return ranked.mapInArrow(
        place, _schema_with_column(subscribers, f"{BROKER_COL} int")
    ), quotas.sum(axis=0)


def _move_subscribers(
    rows: pa.Table,
    id_col: str,
    columns: SubscriberColumns,
    sample_problem: Problem,
    filters: BrokerFilters,
    loads: NDArray[np.int64],
    capacities: NDArray[np.int64],
) -> tuple[dict[object, int], BrokerFilters]:
    """The brokers of those who had none and of those who moved for them, and wider filters."""
    problem, leaves = (
        replace(sample_problem, subscribers=read_subscribers(rows, columns)),
        sample_problem.tree.leaves,
    )
    before = np.asarray(rows[BROKER_COL])
    leaf_of = np.where(before < 0, -1, np.searchsorted(leaves, before)).astype(np.int32)
    near = find_leaves_within_delay(problem)
    bits = find_all_covering_leaves(problem, near, filters)
    leaf_of, filters = make_room_for_unassigned(
        problem, near, bits, leaf_of, loads, capacities, filters
    )
    changed = np.flatnonzero(leaves[leaf_of] != before)
    ids = rows[id_col].take(changed).to_pylist()
    return dict(zip(ids, leaves[leaf_of[changed]].tolist(), strict=True)), filters


def _check_columns(subscribers: DataFrame, names: list[str]) -> None:
    missing = [name for name in names if name not in subscribers.columns]
    if missing:
        raise InvalidArgumentError(
            f"the table has no column {missing[0]}: it has {', '.join(subscribers.columns)}"
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidArgumentError(f"column {repeated[0]} is named twice: each is for one thing")
    for name in names[1:]:
        if not isinstance(subscribers.schema[name].dataType, NumericType):
            kind = subscribers.schema[name].dataType.simpleString()
            raise InvalidArgumentError(f"column {name} is {kind}, not a number")
    taken = [name for name in (_SET_COL, _RANK_COL, BROKER_COL) if name in subscribers.columns]
    if taken:
        raise InvalidArgumentError(
            f"the table has a column {taken[0]} already: rename it, a plan adds one"
        )


def _schema_with_column(subscribers: DataFrame, column: str) -> str:
    kept = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in subscribers.schema.fields)
    return f"{kept}, {column}"


def _join_brokers(assignment: DataFrame, id_col: str, broker_by_id: dict[object, int]) -> DataFrame:
    """Rows with the brokers of those that had none."""
    rows = assignment.sparkSession.createDataFrame(
        list(broker_by_id.items()),
        f"`_covey_id` {assignment.schema[id_col].dataType.simpleString()}, _covey_at int",
    )
    joined = assignment.join(F.broadcast(rows), F.col(id_col) == F.col("_covey_id"), "left")
    return joined.withColumn(BROKER_COL, F.coalesce("_covey_at", BROKER_COL)).drop(
        "_covey_id", "_covey_at"
    )
