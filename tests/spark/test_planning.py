"""Plans for the subscribers of a table: as good as those for arrays, and kept to by all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from covey.errors import ValueRefused
from covey.plan import Plan, Problem, Subscribers, greedy
from covey.plan.sets import SETS
from covey.spark import TablePlan, plan_table
from tests.plan.test_plan import VALID

pytestmark = pytest.mark.integration

AT, LOW, HIGH = [f"n{k}" for k in range(5)], ["x1", "y1"], ["x2", "y2"]


def table_of(spark: SparkSession, wanted: Subscribers) -> DataFrame:
    rows = pd.DataFrame(
        np.hstack([wanted.positions, wanted.lower, wanted.upper]), columns=[*AT, *LOW, *HIGH]
    )
    rows.insert(0, "id", [f"s{i}" for i in range(len(rows))])
    return spark.createDataFrame(rows).repartition(3)


def planned(table: DataFrame, problem: Problem, **more: object) -> TablePlan:
    return plan_table(
        table, problem.tree, position=AT, lower=LOW, upper=HIGH, max_delay=problem.max_delay,
        load=problem.load, most_load=problem.most_load, steps=200, sample=2_000, **more,
    )  # type: ignore[arg-type]  # fmt: skip


@pytest.mark.parametrize(("name", "degree"), [("topics", None), ("hot-spots", 6)])
@pytest.mark.connect
def test_all_rows_are_served(spark: SparkSession, name: str, degree: int | None) -> None:
    problem = replace(SETS[name](8_000, 20, degree=degree, seed=3), max_delay=1.0)
    found = planned(table_of(spark, problem.subscribers), problem)
    assert found.verify() == VALID
    rows = found.assigned.select("id", "broker").collect()
    assert len({row["id"] for row in rows}) == len(rows) == 8_000
    broker_of = np.empty(8_000, np.int32)
    broker_of[[int(row["id"][1:]) for row in rows]] = [row["broker"] for row in rows]
    plan = Plan(problem, broker_of, found.filters)
    assert plan.verify() == VALID
    assert found.bandwidth == pytest.approx(plan.bandwidth)
    assert (found.loads() == plan.loads).all()
    assert plan.bandwidth < greedy(problem).bandwidth


@pytest.mark.connect
def test_rows_that_are_served_wrongly_are_counted(spark: SparkSession) -> None:
    problem = SETS["topics"](3_000, 20, seed=3)
    found = planned(table_of(spark, problem.subscribers), problem)
    wrong = replace(found, assigned=found.assigned.withColumn("broker", F.lit(0)))
    violations = wrong.verify()
    assert violations.late > 1_000
    assert violations.uncovered > 500
    assert violations.beyond > 2_000


def test_those_who_find_no_room_are_served(spark: SparkSession) -> None:
    """A sample that knows nothing of most rows: their leaves are too few for them."""
    problem = replace(SETS["interests"](4_000, 10, seed=3), max_delay=9.0, load=1.0, most_load=1.0)
    found = planned(table_of(spark, problem.subscribers), problem)
    assert found.verify() == VALID
    assert found.loads().tolist() == [400] * 10


def test_columns_that_are_not_there_are_named(spark: SparkSession) -> None:
    problem = SETS["topics"](100, 20, seed=3)
    table = table_of(spark, problem.subscribers)
    with pytest.raises(ValueRefused, match="no column x1"):
        planned(table.drop("x1"), problem)
    with pytest.raises(ValueRefused, match="column broker already"):
        planned(table.withColumn("broker", F.lit(1)), problem)
    with pytest.raises(ValueRefused, match="column x1 is string, not a number"):
        planned(table.withColumn("x1", F.lit("a")), problem)
    with pytest.raises(ValueRefused, match="column x1 is named twice"):
        plan_table(table, problem.tree, position=AT, lower=LOW, upper=LOW)
