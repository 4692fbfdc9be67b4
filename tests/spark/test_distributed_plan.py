"""Plans for the subscribers in a DataFrame: as good as for arrays, and valid for all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from covey.errors import InvalidArgumentError
from covey.plan import Plan, Problem, Subscribers, greedy
from covey.plan.workload.problems import ASSIGNMENT_PROBLEMS
from covey.spark import DistributedPlan, assign_subscribers
from tests.plan.test_plan import VALID

pytestmark = pytest.mark.integration

AT, LOW, HIGH = [f"n{k}" for k in range(5)], ["x1", "y1"], ["x2", "y2"]


def table_of(spark: SparkSession, all_subscribers: Subscribers) -> DataFrame:
    rows = pd.DataFrame(
        np.hstack([all_subscribers.positions, all_subscribers.lower, all_subscribers.upper]),
        columns=[*AT, *LOW, *HIGH],
    )
    rows.insert(0, "id", [f"s{i}" for i in range(len(rows))])
    return spark.createDataFrame(rows).repartition(3)


def make_plan(table: DataFrame, problem: Problem, **more: object) -> DistributedPlan:
    return assign_subscribers(
        table,
        problem.tree,
        position_cols=AT,
        lower_cols=LOW,
        upper_cols=HIGH,
        max_delay=problem.max_delay,
        target_load=problem.target_load,
        max_load=problem.max_load,
        steps=200,
        sample_size=2_000,
        **more,
    )  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "degree"), [("topics", None), ("hot-spots", 6)])
@pytest.mark.connect
def test_all_rows_are_served(spark: SparkSession, name: str, degree: int | None) -> None:
    problem = replace(ASSIGNMENT_PROBLEMS[name](8_000, 20, degree=degree, seed=3), max_delay=1.0)
    found = make_plan(table_of(spark, problem.subscribers), problem)
    assert found.verify() == VALID
    rows = found.assignment.select("id", "broker").collect()
    assert len({row["id"] for row in rows}) == len(rows) == 8_000
    broker_of = np.empty(8_000, np.int32)
    broker_of[[int(row["id"][1:]) for row in rows]] = [row["broker"] for row in rows]
    plan = Plan(problem, broker_of, found.filters)
    assert plan.verify() == VALID
    assert found.bandwidth == pytest.approx(plan.bandwidth)
    assert (found.loads() == plan.loads).all()
    assert plan.bandwidth < greedy(problem).bandwidth


@pytest.mark.connect
def test_wrongly_assigned_rows_are_counted(spark: SparkSession) -> None:
    problem = ASSIGNMENT_PROBLEMS["topics"](3_000, 20, seed=3)
    found = make_plan(table_of(spark, problem.subscribers), problem)
    wrong = replace(found, assignment=found.assignment.withColumn("broker", F.lit(0)))
    violations = wrong.verify()
    assert violations.too_far > 1_000
    assert violations.uncovered > 500
    assert violations.over_capacity > 2_000


def test_rows_beyond_the_capacity_of_their_leaves_are_served(spark: SparkSession) -> None:
    """The sample does not represent most rows: their leaves have too little capacity for them."""
    problem = replace(
        ASSIGNMENT_PROBLEMS["interests"](4_000, 10, seed=3),
        max_delay=9.0,
        target_load=1.0,
        max_load=1.0,
    )
    found = make_plan(table_of(spark, problem.subscribers), problem)
    assert found.verify() == VALID
    assert found.loads().tolist() == [400] * 10


def test_missing_and_wrong_columns_are_named(spark: SparkSession) -> None:
    problem = ASSIGNMENT_PROBLEMS["topics"](100, 20, seed=3)
    table = table_of(spark, problem.subscribers)
    with pytest.raises(InvalidArgumentError, match="the subscribers have no column 'x1'"):
        make_plan(table.drop("x1"), problem)
    with pytest.raises(InvalidArgumentError, match="already have a column 'broker'"):
        make_plan(table.withColumn("broker", F.lit(1)), problem)
    with pytest.raises(InvalidArgumentError, match="column 'x1' is string, but positions"):
        make_plan(table.withColumn("x1", F.lit("a")), problem)
    with pytest.raises(InvalidArgumentError, match="column 'x1' is named twice"):
        assign_subscribers(table, problem.tree, position_cols=AT, lower_cols=LOW, upper_cols=LOW)
