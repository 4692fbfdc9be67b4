"""Zones on Spark: the same matches, from workers that open one zone each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from covey import SessionSettings
from covey.errors import InvalidArgumentError
from covey.testing.spark_oracle import configure_session, match_with_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from covey.spark import MatcherModel

pytestmark = pytest.mark.integration

PREDICATES = [
    *(f"x BETWEEN {i} AND {i + 3} AND y > {i % 7}" for i in range(60)),
    "x IS NULL",
    "x >= 0",
    "x = 5 OR x = 55 OR y < 0",
    "x < 0 AND x > 1",
    "x + y = 10",
    "x BETWEEN 20 AND 40",
]
WIDE = len(PREDICATES) - 1


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    """Return events of which many are equal, and some have no x."""
    configure_session(spark, SessionSettings())
    x = "CASE WHEN id % 5 = 0 THEN NULL WHEN id % 2 = 0 THEN 7 ELSE id % 64 END AS x"
    return spark.range(0, 640, 1, 3).selectExpr("id AS n", x, "id % 11 AS y")


def subscriptions(spark: SparkSession, *numbered: tuple[int, str | None]) -> DataFrame:
    return spark.createDataFrame(list(numbered), "id int, predicate string")


def fit_model(spark: SparkSession, events: DataFrame, **params: Any) -> MatcherModel:
    from covey.spark import Matcher

    matcher = Matcher(eventSchema=events.schema, eventCols=["n"], **{"zones": 8, **params})
    return matcher.fit(subscriptions(spark, *enumerate(PREDICATES)), events=events)


def read_pairs(matches: DataFrame) -> list[tuple[int, int]]:
    return sorted((row["n"], row["id"]) for row in matches.collect())


def expected_pairs(events: DataFrame, predicates: dict[int, str]) -> list[tuple[int, int]]:
    return sorted(match_with_spark(events, predicates, "n"))


@pytest.mark.parametrize("replication", ["pure", "smart"])
@pytest.mark.connect
def test_matches_are_those_that_where_finds(
    spark: SparkSession, events: DataFrame, replication: str
) -> None:
    model = fit_model(spark, events, replication=replication)
    assert (model.numZones, model.numSubscriptions) == (8, len(PREDICATES))
    assert read_pairs(model.transform(events)) == expected_pairs(
        events, dict(enumerate(PREDICATES))
    )


def test_arrays_have_a_row_for_each_event(spark: SparkSession, events: DataFrame) -> None:
    rows = fit_model(spark, events, outputMode="arrays").transform(events).collect()
    assert sorted(row["n"] for row in rows) == list(range(640))
    matched = sorted((row["n"], id_) for row in rows for id_ in row["matches"])
    assert matched == expected_pairs(events, dict(enumerate(PREDICATES)))


def test_a_worker_opens_only_its_zone(spark: SparkSession, events: DataFrame) -> None:
    """Each partition of a zone has one task; a zone with equal events has several partitions."""
    from pyspark.sql import functions as F

    from covey.store import Store

    model = fit_model(spark, events)
    routing = model._state.partitioner
    assert routing is not None
    assert max(routing.partitions_per_zone) > 1
    equal_events = events.where("x = 7 AND y > 3")
    partitions = model.transform(equal_events).select(F.spark_partition_id()).distinct()
    assert 1 < partitions.count() <= max(routing.partitions_per_zone)
    store = Store.open(model._state.location)
    whole = len(store.snapshot(model.storeVersion))
    assert all(len(store.zone_snapshot(model.storeVersion, zone)) < whole for zone in range(8))


def test_smart_replication_stores_a_covered_subscription_once(
    spark: SparkSession, events: DataFrame
) -> None:
    """The last predicate covers twenty others, of which some meet several zones."""
    from covey.store import Store

    sizes = {}
    for replication in ("pure", "smart"):
        model = fit_model(spark, events, replication=replication)
        version = Store.open(model._state.location).snapshot(model.storeVersion).manifest
        sizes[replication] = sum(entry.subscriptions for entry in version.segments)
    assert len(PREDICATES) <= sizes["smart"] < sizes["pure"]


@pytest.mark.parametrize("replication", ["pure", "smart"])
@pytest.mark.connect
def test_zones_are_saved_loaded_and_updated(
    spark: SparkSession, events: DataFrame, tmp_path: Path, replication: str
) -> None:
    """With smart replication, a removed subscription still forwards events to others."""
    from covey.spark import MatcherModel

    fit_model(spark, events, replication=replication).save(str(tmp_path / "model"))
    loaded = MatcherModel.load(str(tmp_path / "model"))
    assert loaded.numZones == 8
    changed = {**dict(enumerate(PREDICATES)), 3: "y = 3", 100: "x IS NULL OR x > 60"}
    del changed[0], changed[60], changed[WIDE]
    removed = [(0, None), (60, None), (WIDE, None)]
    updated = loaded.update(subscriptions(spark, (3, changed[3]), (100, changed[100]), *removed))
    assert (updated.numZones, updated.numSubscriptions) == (8, len(changed))
    assert read_pairs(updated.transform(events)) == expected_pairs(events, changed)
    assert read_pairs(loaded.transform(events)) == expected_pairs(
        events, dict(enumerate(PREDICATES))
    )


@pytest.mark.connect
def test_rebalanced_zones_follow_the_events(spark: SparkSession, events: DataFrame) -> None:
    """All events are in few of eight zones; after rebalancing more zones share them."""
    from covey.store import Store

    model = fit_model(spark, events).update(subscriptions(spark, (3, "y = 3"), (5, None)))
    late = spark.range(0, 640, 1, 3).selectExpr("id AS n", "48 + id % 16 AS x", "id % 11 AS y")
    moved = model.rebalance(late)
    remaining = {**dict(enumerate(PREDICATES)), 3: "y = 3"}
    del remaining[5]
    for frame in (late, events):
        assert read_pairs(moved.transform(frame)) == expected_pairs(frame, remaining)
    assert (
        moved.numSubscriptions
        == len(Store.open(moved._state.location).snapshot())
        == len(remaining)
    )
    before, after = (one.zoneLoad(late).max() * one.numZones for one in (model, moved))
    assert after < 0.8 * before


@pytest.mark.connect
def test_a_stream_is_matched_by_zones(
    spark: SparkSession, events: DataFrame, tmp_path: Path
) -> None:
    events.write.parquet(str(tmp_path / "events"))
    stream = spark.readStream.schema(events.schema).parquet(str(tmp_path / "events"))
    matches = fit_model(spark, events).transform(stream)
    query = (
        matches.writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "matches"))
    )
    query.awaitTermination()
    matched = read_pairs(spark.read.parquet(str(tmp_path / "matches")))
    assert matched == expected_pairs(events, dict(enumerate(PREDICATES)))


def test_auto_chooses_one_zone_for_few_subscriptions(
    spark: SparkSession, events: DataFrame
) -> None:
    assert fit_model(spark, events, zones="auto").numZones == 1


@pytest.mark.parametrize("zones", [0, -1, "some", 1.5, True])
def test_an_invalid_number_of_zones_is_refused(zones: Any) -> None:
    from covey.spark import Matcher

    with pytest.raises(
        InvalidArgumentError, match="zones must be 'auto' or a whole number of at least 1, got"
    ):
        Matcher(zones=zones)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"zones": 1}, "events are used only to split zones"),
        (
            {"replication": "smart", "outputMode": "arrays"},
            "the matches of one event are found in several zones",
        ),
        ({"replication": "both"}, "replication must be 'pure' or 'smart'"),
    ],
)
def test_conflicting_parameters_are_refused(
    spark: SparkSession, events: DataFrame, params: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        fit_model(spark, events, **params)


def test_replication_without_zones_is_refused(spark: SparkSession, events: DataFrame) -> None:
    from covey.spark import Matcher

    with pytest.raises(InvalidArgumentError, match="replication requires zones"):
        Matcher(eventSchema=events.schema, replication="smart").fit(
            subscriptions(spark, (1, "x = 1"))
        )
