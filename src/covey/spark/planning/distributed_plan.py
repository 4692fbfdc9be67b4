"""Plans for the subscribers in a DataFrame, which may have any number of rows.

Spark's workers find the leaves that may serve each subscriber, the subscribers that no filter
covers, the broker of each subscriber, and violations of the plan. The driver reads only samples,
the subscribers that no filter covers, and those for which no leaf has capacity left.
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
    BatchLeaves,
    FindUncoveredTask,
    LeafSetTask,
    SubscriberColumns,
    VerifyTask,
    read_subscribers,
)
from covey.spark.workers import prepare_worker_python, reraise_worker_errors

__all__ = ["DistributedPlan", "assign_subscribers"]

_MAX_SEED = (1 << 63) - 1  # Spark's largest integer
_MOVABLE_PER_UNASSIGNED = 20  # rows with a broker that may move, for each row without a broker
_SET_COL, _RANK_COL, BROKER_COL = "_covey_set", "_covey_rank", "broker"


@dataclass(frozen=True)
class DistributedPlan:
    """Plan whose assignment is a DataFrame.

    Args:
        problem: the problem, with the subscribers of the sample.
        filters: the filters of all brokers.
        assignment: the rows of the DataFrame of subscribers, with their brokers in a column
            `broker`; -1 for rows without a broker. Spark computes the assignment each time that it
            is read: call `persist` if you read it often.
        subscriber_count: number of rows of `assignment`.
        leaf_set_count: number of leaf sets between which the assignment distinguishes. It is
            limited, and does not grow with the number of subscribers.
        columns: columns of the subscribers with positions and boxes.
    """

    problem: Problem
    filters: BrokerFilters
    assignment: DataFrame
    subscriber_count: int
    leaf_set_count: int
    columns: SubscriberColumns

    @property
    def bandwidth(self) -> float:
        """Bandwidth of the plan, summed over all brokers.

        With an event sample, the bandwidth of a broker is the share of events that it receives;
        without one, it is the volume of its filter.
        """
        return float(self.filters.compute_bandwidth(self.problem.event_sample).sum())

    def loads(self) -> NDArray[np.int64]:
        """Return the number of subscribers of each leaf, in the order of the tree's leaves.

        Cost: a pass over `assignment`.
        """
        rows = self.assignment.groupBy(BROKER_COL).count().collect()
        count_by_leaf = {row[BROKER_COL]: row["count"] for row in rows}
        return np.array([count_by_leaf.get(leaf, 0) for leaf in self.problem.tree.leaves.tolist()])

    def verify(self) -> Violations:
        """Count how often `assignment` and the filters violate the limits of `problem`.

        Cost: two passes over `assignment`.
        """
        task = VerifyTask(BatchLeaves(self.columns, self.problem, self.filters), BROKER_COL)
        with reraise_worker_errors():
            counts = self.assignment.mapInArrow(task, "late long, uncovered long").collect()
        capacities = self.problem.compute_capacities(self.problem.max_load, self.subscriber_count)
        return Violations(
            too_far=sum(row["late"] for row in counts),
            uncovered=sum(row["uncovered"] for row in counts),
            over_capacity=int(np.maximum(0, self.loads() - capacities).sum()),
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
    """Assign the rows of a DataFrame of subscribers to the leaf brokers of a tree.

    The algorithm of `covey.plan.search` finds filters for a sample of the rows. They are then
    widened for rows that no filter covers.

    Args:
        subscribers: a row for each subscriber. The DataFrame is read several times, and must have
            the same rows each time.
        tree: the brokers.
        position_cols: columns with the coordinates of subscribers.
        lower_cols: columns with the lower ends of the subscribers' boxes, one for each dimension.
        upper_cols: columns with the upper ends of the boxes, in the same order.
        id_col: column with the ids of subscribers; each id occurs once.
        max_rectangles: largest number of rectangles of a filter.
        max_delay: how much longer the path to a subscriber may be than the shortest path, as a
            share of the shortest path.
        target_load: load factor that the plan should not exceed.
        max_load: load factor that no leaf may exceed.
        event_sample: events by which bandwidth is measured; None to measure it by the volumes of
            filters.
        steps: number of steps of the search; None for the default of `covey.plan.search`.
        sample_size: largest number of subscribers in the sample.
        seed: seed of the sample and the search.
        progress: function that is called with the finished share of the search (0 to 1) and the
            bandwidth.

    Raises:
        InvalidArgumentError: a column is missing or not a number, or an argument is out of range.

    Cost: a search on the driver, and six passes over the subscribers. One of these passes sorts the
    subscribers by leaf set.
    """
    check_range("steps", 0 if steps is None else steps, 0)
    check_range("sample_size", sample_size, 1)
    check_range("seed", seed, 0, _MAX_SEED)
    columns = SubscriberColumns(tuple(position_cols), tuple(lower_cols), tuple(upper_cols))
    if not (columns.position and columns.lower and len(columns.lower) == len(columns.upper)):
        raise InvalidArgumentError(
            "position_cols and lower_cols must name at least one column, and upper_cols must name "
            f"as many as lower_cols; got {len(columns.position)}, {len(columns.lower)} and "
            f"{len(columns.upper)} columns"
        )
    _check_columns(subscribers, [id_col, *columns.names])
    prepare_worker_python(subscribers.sparkSession)
    count = subscribers.count()
    sample_rows = _sample_rows(subscribers, id_col, seed, sample_size).select(*columns.names)
    problem = Problem(
        tree,
        read_subscribers(sample_rows.toArrow(), columns),
        max_rectangles=max_rectangles,
        max_delay=max_delay,
        target_load=target_load,
        max_load=max_load,
        event_sample=event_sample,
    )
    find_uncovered = partial(_find_uncovered, subscribers, columns, problem)
    budget = SearchBudget(
        choose_step_count(problem) if steps is None else steps, seed=seed, progress=progress
    )
    filters = search_sampled_filters(problem, count, find_uncovered, None, budget)
    uncovered, capacities = find_uncovered(filters), problem.compute_capacities(max_load, count)
    if uncovered is not None:
        _, filters = extend_assignment(uncovered, filters, 0 * capacities, capacities)
    leaf_sets = find_frequent_leaf_sets(
        find_all_covering_leaves(problem, find_leaves_within_delay(problem), filters),
        len(tree.leaves),
    )
    leaf_set_task = LeafSetTask(BatchLeaves(columns, problem, filters), leaf_sets)
    assignment, loads = _assign_brokers(subscribers, id_col, leaf_set_task)
    without_broker = assignment.where(F.col(BROKER_COL) < 0)
    unassigned = without_broker.select(id_col, BROKER_COL, *columns.names).toArrow()
    if unassigned.num_rows:
        movable_count = max(sample_size, _MOVABLE_PER_UNASSIGNED * unassigned.num_rows)
        with_broker = assignment.where(F.col(BROKER_COL) >= 0)
        movable = _sample_rows(with_broker, id_col, seed, movable_count)
        rows = pa.concat_tables([unassigned, movable.select(unassigned.column_names).toArrow()])
        broker_by_id, filters = _move_subscribers(
            rows, id_col, columns, problem, filters, loads, capacities
        )
        assignment = _join_brokers(assignment, id_col, broker_by_id)
    return DistributedPlan(problem, filters, assignment, count, len(leaf_sets), columns)


def _sample_rows(subscribers: DataFrame, id_col: str, seed: int, count: int) -> DataFrame:
    """Return a sample of at most `count` rows, which depends only on the ids and the seed."""
    return subscribers.orderBy(F.xxhash64(id_col, F.lit(seed))).limit(count)


def _find_uncovered(
    subscribers: DataFrame,
    columns: SubscriberColumns,
    sample_problem: Problem,
    filters: BrokerFilters,
) -> Problem | None:
    """Return the problem of the subscribers that no leaf can serve; None if there are none.

    A leaf can serve a subscriber if the delay is within the limit and its filter covers the box.
    """
    task = FindUncoveredTask(BatchLeaves(columns, sample_problem, filters))
    with reraise_worker_errors():
        rows = subscribers.select(*columns.names).mapInArrow(task, columns.schema).toArrow()
    if not rows.num_rows:
        return None
    return replace(sample_problem, subscribers=read_subscribers(rows, columns))


def _assign_brokers(
    subscribers: DataFrame, id_col: str, leaf_set_task: LeafSetTask
) -> tuple[DataFrame, NDArray[np.int64]]:
    """Return the rows with their brokers, and the number of subscribers of each leaf.

    The broker of a row is -1 if the leaves that can serve it have no capacity left.
    """
    with_leaf_set = subscribers.mapInArrow(
        leaf_set_task, _schema_with_column(subscribers, f"{_SET_COL} int")
    )
    counts = np.zeros(len(leaf_set_task.leaf_sets), np.int64)
    with reraise_worker_errors():
        for leaf_set, count in with_leaf_set.groupBy(_SET_COL).count().collect():
            counts[leaf_set] = count
    quotas = compute_leaf_quotas(leaf_set_task.leaves.problem, leaf_set_task.leaf_sets, counts)
    rank = F.row_number().over(Window.partitionBy(_SET_COL).orderBy(id_col)) - 1
    leaves = leaf_set_task.leaves.problem.tree.leaves
    task = AssignBrokerTask(np.cumsum(quotas, axis=1), leaves, _SET_COL, _RANK_COL, BROKER_COL)
    ranked = with_leaf_set.withColumn(_RANK_COL, rank)
    assignment = ranked.mapInArrow(task, _schema_with_column(subscribers, f"{BROKER_COL} int"))
    return assignment, quotas.sum(axis=0)


def _move_subscribers(
    rows: pa.Table,
    id_col: str,
    columns: SubscriberColumns,
    sample_problem: Problem,
    filters: BrokerFilters,
    loads: NDArray[np.int64],
    capacities: NDArray[np.int64],
) -> tuple[dict[object, int], BrokerFilters]:
    """Assign unassigned subscribers, and move assigned ones if that makes capacity available.

    Args:
        rows: unassigned subscribers (broker -1), and assigned ones that may move.
        id_col: column with ids.
        columns: columns with positions and boxes.
        sample_problem: a problem with the same brokers and limits; its subscribers are not used.
        filters: the filters of all brokers.
        loads: number of subscribers of each leaf, counted over all subscribers.
        capacities: largest number of subscribers of each leaf.

    Returns:
        The new broker of each subscriber that was assigned or moved, by id; and the filters,
        widened for these subscribers.
    """
    problem = replace(sample_problem, subscribers=read_subscribers(rows, columns))
    leaves = sample_problem.tree.leaves
    old_brokers = np.asarray(rows[BROKER_COL])
    leaf_of = np.where(old_brokers < 0, -1, np.searchsorted(leaves, old_brokers)).astype(np.int32)
    allowed_bits = find_leaves_within_delay(problem)
    covering_bits = find_all_covering_leaves(problem, allowed_bits, filters)
    leaf_of, filters = make_room_for_unassigned(
        problem, allowed_bits, covering_bits, leaf_of, loads, capacities, filters
    )
    changed = np.flatnonzero(leaves[leaf_of] != old_brokers)
    ids = rows[id_col].take(changed).to_pylist()
    return dict(zip(ids, leaves[leaf_of[changed]].tolist(), strict=True)), filters


def _check_columns(subscribers: DataFrame, names: list[str]) -> None:
    missing = [name for name in names if name not in subscribers.columns]
    if missing:
        raise InvalidArgumentError(
            f"the subscribers have no column {missing[0]!r}: they have "
            f"{', '.join(subscribers.columns)}"
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidArgumentError(
            f"column {repeated[0]!r} is named twice in id_col, position_cols, lower_cols and "
            "upper_cols: name each column only once"
        )
    for name in names[1:]:
        if not isinstance(subscribers.schema[name].dataType, NumericType):
            type_name = subscribers.schema[name].dataType.simpleString()
            raise InvalidArgumentError(
                f"column {name!r} is {type_name}, but positions and ends of boxes must be numbers: "
                "cast the column"
            )
    reserved = [name for name in (_SET_COL, _RANK_COL, BROKER_COL) if name in subscribers.columns]
    if reserved:
        raise InvalidArgumentError(
            f"the subscribers already have a column {reserved[0]!r}, which the plan adds: rename "
            "the column of the subscribers"
        )


def _schema_with_column(subscribers: DataFrame, column: str) -> str:
    fields = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in subscribers.schema.fields)
    return f"{fields}, {column}"


def _join_brokers(assignment: DataFrame, id_col: str, broker_by_id: dict[object, int]) -> DataFrame:
    """Return the assignment with the new brokers of the subscribers in `broker_by_id`."""
    rows = assignment.sparkSession.createDataFrame(
        list(broker_by_id.items()),
        f"`_covey_id` {assignment.schema[id_col].dataType.simpleString()}, _covey_at int",
    )
    joined = assignment.join(F.broadcast(rows), F.col(id_col) == F.col("_covey_id"), "left")
    return joined.withColumn(BROKER_COL, F.coalesce("_covey_at", BROKER_COL)).drop(
        "_covey_id", "_covey_at"
    )
