"""Reduction on Spark: fewer subscriptions, the same notifications."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from covey import covering as core
from covey.errors import InvalidArgumentError, SchemaError
from covey.geometry.relations import covers
from covey.routing import RoutingTable
from covey.spark import Matcher, MatcherModel, ReductionResult, match, reduce_subscriptions
from covey.workload import Alerts, UniformBoxes, Workload

pytestmark = pytest.mark.integration

STORED, EVENTS = 3_000, 2_000


def subscriptions(spark: SparkSession, workload: Workload, count: int = STORED) -> DataFrame:
    rows = list(enumerate(workload.generate_predicates(0, count)))
    return spark.createDataFrame(rows, "id long, predicate string")


def events(spark: SparkSession, workload: Workload) -> DataFrame:
    return spark.createDataFrame(workload.generate_events(0, EVENTS).to_pandas())


def answers(model: MatcherModel, some: DataFrame) -> tuple[int, int]:
    hashed = "sum(CAST(xxhash64(*) AS DECIMAL(38, 0)))"
    row = model.transform(some).selectExpr("count(*)", hashed).first()
    assert row is not None
    return row[0], row[1]


@pytest.fixture(scope="module")
def alerts(spark: SparkSession) -> tuple[ReductionResult, DataFrame]:
    some = events(spark, Alerts())
    made = reduce_subscriptions(
        subscriptions(spark, Alerts()),
        sample=some,
        max_false_positive_rate=0.02,
        eventSchema=some.schema,
    )
    return made, some


@pytest.mark.connect
def test_the_reduced_model_has_all_notifications(
    spark: SparkSession, alerts: tuple[ReductionResult, DataFrame]
) -> None:
    reduction, some = alerts
    full = Matcher(eventSchema=some.schema).fit(subscriptions(spark, Alerts()))
    assert reduction.active.count() == STORED - reduction.summary.redundant < 0.9 * STORED
    assert answers(reduction.model, some) == answers(full, some)


def test_the_result_equals_that_of_one_process(alerts: tuple[ReductionResult, DataFrame]) -> None:
    reduction, _ = alerts
    regions = Alerts().generate_regions(0, STORED)
    found = core.reduce_regions(regions, np.arange(STORED))
    statuses = {row["id"]: row["status"] for row in reduction.statuses.collect()}
    names = [core.RegionStatus(one).name.lower() for one in found.statuses]
    assert statuses == dict(enumerate(names))
    single = {
        row["id"]: row["absorbed_by"][0]
        for row in reduction.statuses.where("status IN ('equal', 'covered')").collect()
        if len(row["absorbed_by"]) == 1
    }
    inner, outer = np.array(list(single)), np.array(list(single.values()))
    assert len(inner) > 100
    assert covers(regions, outer, regions, inner).all()


@pytest.mark.connect
def test_filters_admit_every_wanted_event(
    spark: SparkSession, alerts: tuple[ReductionResult, DataFrame]
) -> None:
    reduction, some = alerts
    filters = reduction.filters
    assert filters.count() == reduction.summary.filters < reduction.summary.active
    numbered = some.selectExpr("monotonically_increasing_id() AS n", "*").cache()
    let_in = match(numbered, filters, idCol="filter", eventCols=["n"]).select("n").distinct()
    wanted = match(numbered, subscriptions(spark, Alerts()), eventCols=["n"]).select("n").distinct()
    assert wanted.subtract(let_in).isEmpty()
    false_forwards = let_in.subtract(wanted).count()
    assert false_forwards <= 0.05 * EVENTS


def test_redundant_subscriptions_by_covering_equal_those_of_a_routing_table(
    spark: SparkSession,
) -> None:
    workload = UniformBoxes(2, 0.2)
    some = events(spark, workload)
    made = reduce_subscriptions(
        subscriptions(spark, workload), max_subtractions=0, eventSchema=some.schema
    )
    table = RoutingTable(workload.space)
    table.add(list(range(STORED)), workload.generate_regions(0, STORED), np.arange(STORED))
    table.prune()
    assert {row["id"] for row in made.redundant.collect()} == set(table.find_redundant())
    fewer = reduce_subscriptions(subscriptions(spark, workload), eventSchema=some.schema)
    assert fewer.summary.subsumed > 0
    full = Matcher(eventSchema=some.schema).fit(subscriptions(spark, workload))
    assert answers(fewer.model, some) == answers(full, some)


@pytest.mark.connect
def test_a_reduced_model_is_saved_and_updated(
    spark: SparkSession, alerts: tuple[ReductionResult, DataFrame], tmp_path: Path
) -> None:
    reduction, some = alerts
    reduction.model.write().save(str(tmp_path / "model"))
    loaded = MatcherModel.load(str(tmp_path / "model"))
    assert answers(loaded, some) == answers(reduction.model, some)
    active = [row["id"] for row in reduction.active.orderBy("id").limit(200).collect()]
    removed = spark.createDataFrame([(id_, None) for id_ in active], "id long, predicate string")
    updated = loaded.update(removed)
    rest = subscriptions(spark, Alerts()).where(~_among(active))
    assert answers(updated, some) == answers(Matcher(eventSchema=some.schema).fit(rest), some)


def _among(ids: list[int]) -> Any:
    from pyspark.sql import functions as F

    return F.col("id").isin(ids)


def test_ids_and_column_names_are_kept(spark: SparkSession) -> None:
    some = spark.createDataFrame([(1.0, "a")], "price double, symbol string")
    rows = [("x", "price > 5"), ("y", "price > 7"), ("z", "price > 7"), ("n", "price < price")]
    rows += [("low", "price BETWEEN -9 AND 2"), ("far", "price BETWEEN -8 AND -7")]
    rows += [("mid", "price BETWEEN 1.8 AND 9.5"), ("in", "price BETWEEN 1.5 AND 2.5")]
    rows += [("no", "false")]
    given = spark.createDataFrame(rows, "alert string, text string")
    made = reduce_subscriptions(given, idCol="alert", predicateCol="text", eventSchema=some.schema)
    found = {row["alert"]: (row["status"], row["absorbed_by"]) for row in made.statuses.collect()}
    assert found["x"] == ("active", [])
    assert {found["y"][0], found["z"][0]} == {"covered", "equal"}  # either may come first
    assert found["y"][1] == found["z"][1] == ["x"]
    assert found["in"] == ("subsumed", ["low", "mid"])
    assert found["no"] == ("never", [])
    assert "active" in str(made)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_false_positive_rate": 1.0},
        {"max_false_positive_rate": -0.1},
        {"max_false_positive_rate": "1"},
        {"max_subtractions": -1},
        {"max_subtractions": 1.5},
    ],
)
def test_wrong_limits_are_refused(spark: SparkSession, wrong: dict[str, Any]) -> None:
    some = spark.createDataFrame([(1.0,)], "price double")
    given = spark.createDataFrame([(1, "price > 1")], "id int, predicate string")
    with pytest.raises(InvalidArgumentError, match=next(iter(wrong))):
        reduce_subscriptions(given, eventSchema=some.schema, **wrong)


def test_empty_input_and_unsuitable_samples_are_refused(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1.0, "a")], "price double, symbol string")
    given = spark.createDataFrame([(1, "price > 1")], "id int, predicate string")
    with pytest.raises(InvalidArgumentError, match="no subscriptions to reduce"):
        reduce_subscriptions(given.limit(0), eventSchema=events.schema)
    with pytest.raises(SchemaError, match=r"event sample .*: the events have no column 'price'"):
        reduce_subscriptions(given, eventSchema=events.schema, sample=events.select("symbol"))
