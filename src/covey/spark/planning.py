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

from covey.errors import ValueRefused
from covey.plan import BrokerTree, Problem, Violations
from covey.plan.assigning import extended
from covey.plan.filters import Filters
from covey.plan.improving import Effort, usual_steps
from covey.plan.placing import allotted, common_sets
from covey.plan.plan import unnested
from covey.plan.reach import near_leaves
from covey.plan.sampled import filters_for
from covey.plan.spreading import all_reached, with_room
from covey.spark.plan_stages import Columns, Missed, Numbered, Placed, Verified, subscribers_of
from covey.spark.task import told

__all__ = ["TablePlan", "plan_table"]

_MOVABLE = 20  # rows that could move, for each that has no room
_SET, _RANK, BROKER = "_covey_set", "_covey_rank", "broker"


@dataclass(frozen=True)
class TablePlan:
    """`assigned` has the rows of the table and the broker of each, in a column of that name.

    It is computed each time that it is asked for: keep it with `persist` if that is often.
    `sets` is how many sets of leaves the flow told apart: its size, whatever the table's.
    """

    problem: Problem
    filters: Filters
    assigned: DataFrame
    count: int
    sets: int
    columns: Columns

    @property
    def bandwidth(self) -> float:
        """What comes to all brokers together."""
        return float(self.filters.bandwidth(self.problem.events).sum())

    def loads(self) -> NDArray[np.int64]:
        """How many subscribers each leaf serves. Cost: a pass over the table."""
        rows = self.assigned.groupBy(BROKER).count().collect()
        found = {row[BROKER]: row["count"] for row in rows}
        return np.array([found.get(leaf, 0) for leaf in self.problem.tree.leaves.tolist()])

    def verify(self) -> Violations:
        """Computes everything that a plan must keep to anew. Cost: two passes over the table."""
        stage = Verified(self.columns, self.problem, self.filters, BROKER)
        with told():
            parts = self.assigned.mapInArrow(stage, "late long, uncovered long").collect()
        most = self.problem.most(self.problem.most_load, self.count)
        return Violations(
            late=sum(part["late"] for part in parts),
            uncovered=sum(part["uncovered"] for part in parts),
            beyond=int(np.maximum(0, self.loads() - most).sum()),
            unnested=unnested(self.problem.tree, self.filters),
            complex=int(np.count_nonzero(self.filters.counts > self.problem.alpha)),
        )


def plan_table(
    table: DataFrame,
    tree: BrokerTree,
    *,
    position: Sequence[str],
    lower: Sequence[str],
    upper: Sequence[str],
    id: str = "id",
    alpha: int = 3,
    max_delay: float = 0.3,
    load: float = 1.5,
    most_load: float = 1.8,
    events: NDArray[np.float64] | None = None,
    steps: int | None = None,
    sample: int = 50_000,
    seed: int = 0,
    progress: Callable[[float, float], None] | None = None,
) -> TablePlan:
    """A plan for the rows of a table: `position`, `lower` and `upper` name its columns.

    It is what `covey.plan.search` finds on a sample, spread to all. Ids are different. The table is
    read a few times, so it should be one that is the same each time.

    Cost: a search of so many steps, or of as many as `search` takes, on the driver; six passes over
    the table, of which one sorts it by the sets of leaves that can serve a row.
    """
    columns = Columns(tuple(position), tuple(lower), tuple(upper))
    _check(table, [id, *columns.names])
    count = table.count()
    chosen = _drawn(table, id, seed, sample).select(*columns.names)
    some = Problem(
        tree, subscribers_of(chosen.toArrow(), columns), alpha=alpha, max_delay=max_delay,
        load=load, most_load=most_load, events=events,
    )  # fmt: skip
    missed = partial(_missed, table, columns, some)
    effort = Effort(usual_steps(some) if steps is None else steps, seed=seed, progress=progress)
    filters = filters_for(some, count, missed, None, effort)
    still, most = missed(filters), some.most(most_load, count)
    if still is not None:
        _, filters = extended(still, filters, 0 * most, most)
    sets = common_sets(all_reached(some, near_leaves(some), filters), len(tree.leaves))
    placed, loads = _placed(table, id, Numbered(columns, some, filters, sets))
    left = placed.where(F.col(BROKER) < 0).select(id, BROKER, *columns.names).toArrow()
    if left.num_rows:
        movable = max(sample, _MOVABLE * left.num_rows)
        others = _drawn(placed.where(F.col(BROKER) >= 0), id, seed, movable)
        rows = pa.concat_tables([left, others.select(left.column_names).toArrow()])
        known, filters = _moved(rows, id, columns, some, filters, loads, most)
        placed = _with_others(placed, id, known)
    return TablePlan(some, filters, placed, count, len(sets), columns)


def _drawn(table: DataFrame, id: str, seed: int, count: int) -> DataFrame:
    """So many rows, the same ones for the same seed."""
    return table.orderBy(F.xxhash64(id, F.lit(seed))).limit(count)


def _missed(table: DataFrame, columns: Columns, some: Problem, filters: Filters) -> Problem | None:
    """The rows whom filters miss, if there are any."""
    stage = Missed(columns, some, filters)
    with told():
        found = table.select(*columns.names).mapInArrow(stage, columns.schema).toArrow()
    return replace(some, subscribers=subscribers_of(found, columns)) if found.num_rows else None


def _placed(table: DataFrame, id: str, stage: Numbered) -> tuple[DataFrame, NDArray[np.int64]]:
    """Rows with their brokers, or -1 where there is no room, and how many each leaf serves."""
    numbered = table.mapInArrow(stage, _with(table, f"{_SET} int"))
    counts = np.zeros(len(stage.sets), np.int64)
    with told():
        for number, many in numbered.groupBy(_SET).count().collect():
            counts[number] = many
    quotas = allotted(stage.problem, stage.sets, counts)
    rank = F.row_number().over(Window.partitionBy(_SET).orderBy(id)) - 1
    leaves = stage.problem.tree.leaves
    place = Placed(np.cumsum(quotas, axis=1), leaves, _SET, _RANK, BROKER)
    ranked = numbered.withColumn(_RANK, rank)
    return ranked.mapInArrow(place, _with(table, f"{BROKER} int")), quotas.sum(axis=0)


def _moved(
    rows: pa.Table, id: str, columns: Columns, some: Problem, filters: Filters,
    loads: NDArray[np.int64], most: NDArray[np.int64],
) -> tuple[dict[object, int], Filters]:  # fmt: skip
    """The brokers of those who had none and of those who moved for them, and wider filters."""
    problem, leaves = replace(some, subscribers=subscribers_of(rows, columns)), some.tree.leaves
    before = np.asarray(rows[BROKER])
    leaf_of = np.where(before < 0, -1, np.searchsorted(leaves, before)).astype(np.int32)
    near = near_leaves(problem)
    bits = all_reached(problem, near, filters)
    filters = with_room(problem, near, bits, leaf_of, loads, most, filters)
    changed = np.flatnonzero(leaves[leaf_of] != before)
    ids = rows[id].take(changed).to_pylist()
    return dict(zip(ids, leaves[leaf_of[changed]].tolist(), strict=True)), filters


def _check(table: DataFrame, names: list[str]) -> None:
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise ValueRefused(
            f"the table has no column {missing[0]}: it has {', '.join(table.columns)}"
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueRefused(f"column {repeated[0]} is named twice: each is for one thing")
    for name in names[1:]:
        if not isinstance(table.schema[name].dataType, NumericType):
            kind = table.schema[name].dataType.simpleString()
            raise ValueRefused(f"column {name} is {kind}, not a number")
    taken = [name for name in (_SET, _RANK, BROKER) if name in table.columns]
    if taken:
        raise ValueRefused(f"the table has a column {taken[0]} already: rename it, a plan adds one")


def _with(table: DataFrame, column: str) -> str:
    kept = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in table.schema.fields)
    return f"{kept}, {column}"


def _with_others(placed: DataFrame, id: str, known: dict[object, int]) -> DataFrame:
    """Rows with the brokers of those that had none."""
    rows = placed.sparkSession.createDataFrame(
        list(known.items()),
        f"`_covey_id` {placed.schema[id].dataType.simpleString()}, _covey_at int",
    )
    joined = placed.join(F.broadcast(rows), F.col(id) == F.col("_covey_id"), "left")
    return joined.withColumn(BROKER, F.coalesce("_covey_at", BROKER)).drop("_covey_id", "_covey_at")
