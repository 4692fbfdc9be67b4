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


def answers(model: MatcherModel, events: DataFrame) -> tuple[int, int]:
    hashed = "sum(CAST(xxhash64(*) AS DECIMAL(38, 0)))"
    row = model.transform(events).selectExpr("count(*)", hashed).first()
    assert row is not None
    return row[0], row[1]


@pytest.fixture(scope="module")
def alerts(spark: SparkSession) -> tuple[ReductionResult, DataFrame]:
    sample_events = events(spark, Alerts())
    result = reduce_subscriptions(
        subscriptions(spark, Alerts()),
        sample=sample_events,
        max_false_positive_rate=0.02,
        eventSchema=sample_events.schema,
    )
    return result, sample_events


@pytest.mark.connect
def test_the_reduced_model_has_all_notifications(
    spark: SparkSession, alerts: tuple[ReductionResult, DataFrame]
) -> None:
    reduction, sample = alerts
    full = Matcher(eventSchema=sample.schema).fit(subscriptions(spark, Alerts()))
    assert reduction.active.count() == STORED - reduction.summary.redundant < 0.9 * STORED
    assert answers(reduction.model, sample) == answers(full, sample)


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
    reduction, sample = alerts
    filters = reduction.filters
    assert filters.count() == reduction.summary.filters < reduction.summary.active
    numbered = sample.selectExpr("monotonically_increasing_id() AS n", "*").cache()
    admitted = match(numbered, filters, idCol="filter", eventCols=["n"]).select("n").distinct()
    matched = (
        match(numbered, subscriptions(spark, Alerts()), eventCols=["n"]).select("n").distinct()
    )
    assert matched.subtract(admitted).isEmpty()
    false_forwards = admitted.subtract(matched).count()
    assert false_forwards <= 0.05 * EVENTS


def test_redundant_subscriptions_by_covering_equal_those_of_a_routing_table(
    spark: SparkSession,
) -> None:
    workload = UniformBoxes(2, 0.2)
    sample = events(spark, workload)
    by_covering = reduce_subscriptions(
        subscriptions(spark, workload), max_subtractions=0, eventSchema=sample.schema
    )
    table = RoutingTable(workload.space)
    table.add(list(range(STORED)), workload.generate_regions(0, STORED), np.arange(STORED))
    table.prune()
    assert {row["id"] for row in by_covering.redundant.collect()} == set(table.find_redundant())
    by_union = reduce_subscriptions(subscriptions(spark, workload), eventSchema=sample.schema)
    assert by_union.summary.subsumed > 0
    full = Matcher(eventSchema=sample.schema).fit(subscriptions(spark, workload))
    assert answers(by_union.model, sample) == answers(full, sample)


@pytest.mark.connect
def test_a_reduced_model_is_saved_and_updated(
    spark: SparkSession, alerts: tuple[ReductionResult, DataFrame], tmp_path: Path
) -> None:
    reduction, sample = alerts
    reduction.model.write().save(str(tmp_path / "model"))
    loaded = MatcherModel.load(str(tmp_path / "model"))
    assert answers(loaded, sample) == answers(reduction.model, sample)
    active = [row["id"] for row in reduction.active.orderBy("id").limit(200).collect()]
    removed = spark.createDataFrame([(id_, None) for id_ in active], "id long, predicate string")
    updated = loaded.update(removed)
    remaining = subscriptions(spark, Alerts()).where(~_among(active))
    assert answers(updated, sample) == answers(
        Matcher(eventSchema=sample.schema).fit(remaining), sample
    )


def _among(ids: list[int]) -> Any:
    from pyspark.sql import functions as F

    return F.col("id").isin(ids)


def test_ids_and_column_names_are_kept(spark: SparkSession) -> None:
    one_event = spark.createDataFrame([(1.0, "a")], "price double, symbol string")
    rows = [("x", "price > 5"), ("y", "price > 7"), ("z", "price > 7"), ("n", "price < price")]
    rows += [("low", "price BETWEEN -9 AND 2"), ("far", "price BETWEEN -8 AND -7")]
    rows += [("mid", "price BETWEEN 1.8 AND 9.5"), ("in", "price BETWEEN 1.5 AND 2.5")]
    rows += [("no", "false")]
    frame = spark.createDataFrame(rows, "alert string, text string")
    result = reduce_subscriptions(
        frame, idCol="alert", predicateCol="text", eventSchema=one_event.schema
    )
    found = {row["alert"]: (row["status"], row["absorbed_by"]) for row in result.statuses.collect()}
    assert found["x"] == ("active", [])
    assert {found["y"][0], found["z"][0]} == {"covered", "equal"}  # either may come first
    assert found["y"][1] == found["z"][1] == ["x"]
    assert found["in"] == ("subsumed", ["low", "mid"])
    assert found["no"] == ("never", [])
    assert "active" in str(result)


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
    one_event = spark.createDataFrame([(1.0,)], "price double")
    frame = spark.createDataFrame([(1, "price > 1")], "id int, predicate string")
    with pytest.raises(InvalidArgumentError, match=next(iter(wrong))):
        reduce_subscriptions(frame, eventSchema=one_event.schema, **wrong)


def test_empty_input_and_unsuitable_samples_are_refused(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1.0, "a")], "price double, symbol string")
    frame = spark.createDataFrame([(1, "price > 1")], "id int, predicate string")
    with pytest.raises(InvalidArgumentError, match="no subscriptions to reduce"):
        reduce_subscriptions(frame.limit(0), eventSchema=events.schema)
    with pytest.raises(SchemaError, match=r"event sample .*: the events have no column 'price'"):
        reduce_subscriptions(frame, eventSchema=events.schema, sample=events.select("symbol"))
