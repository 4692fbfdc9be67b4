"""Models that are saved, loaded, overwritten, updated, used in streams and called from SQL."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from covey import SessionSettings
from covey.errors import InvalidArgumentError, SchemaError, StoreError
from covey.testing.spark_oracle import configure_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from covey.spark import MatcherModel

pytestmark = pytest.mark.integration


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    configure_session(spark, SessionSettings())
    return spark.range(0, 1_000, 1, 2).selectExpr("id AS n", "id % 10 AS digit")


def alerts(spark: SparkSession, *predicates: tuple[Any, str | None]) -> DataFrame:
    return spark.createDataFrame(list(predicates), "id int, predicate string")


def fit_model(spark: SparkSession, events: DataFrame, digit: int, **params: Any) -> MatcherModel:
    from covey.spark import Matcher

    matcher = Matcher(eventSchema=events.schema, **params)
    return matcher.fit(alerts(spark, (1, f"digit = {digit}"), (2, "digit >")))


def digits(matches: DataFrame) -> list[tuple[int, int]]:
    """Return each matched digit with its number of matches."""
    rows = matches.groupBy("digit").count().collect()
    return sorted((row["digit"], row["count"]) for row in rows)


@pytest.mark.connect
def test_a_saved_model_is_loaded(spark: SparkSession, events: DataFrame, tmp_path: Path) -> None:
    from covey.spark import MatcherModel

    model = fit_model(spark, events, 3, eventCols=["digit"])
    model.save(str(tmp_path / "model"))
    with pytest.raises(InvalidArgumentError, match="already"):
        model.save(str(tmp_path / "model"))
    loaded = MatcherModel.load(str(tmp_path / "model"))
    assert loaded.uid == model.uid
    assert loaded.numSubscriptions == 1
    assert [row["id"] for row in loaded.rejectedSubscriptions.collect()] == [2]
    assert digits(loaded.transform(events)) == [(3, 100)]
    with pytest.raises(StoreError, match="no model"):
        MatcherModel.load(str(tmp_path / "elsewhere"))


@pytest.mark.connect
def test_models_work_in_pipelines(spark: SparkSession, events: DataFrame, tmp_path: Path) -> None:
    from pyspark.ml import Pipeline, PipelineModel

    from covey.spark import Matcher

    matcher = Matcher(eventSchema=events.schema, predicateCol="predicate")
    pipeline = Pipeline(stages=[matcher])
    pipeline.write().overwrite().save(str(tmp_path / "pipeline"))
    again = Pipeline.load(str(tmp_path / "pipeline"))
    model = again.fit(alerts(spark, (1, "digit = 4")))
    model.write().overwrite().save(str(tmp_path / "fitted"))
    loaded = PipelineModel.load(str(tmp_path / "fitted"))
    assert digits(loaded.transform(events)) == [(4, 100)]


def test_overwriting_does_not_change_running_jobs(
    spark: SparkSession, events: DataFrame, tmp_path: Path
) -> None:
    from covey.spark import MatcherModel

    path = str(tmp_path / "model")
    fit_model(spark, events, 0).save(path)
    before = MatcherModel.load(path)
    slow = events.repartition(8).selectExpr("n", "digit")
    answers: list[list[tuple[int, int]]] = []

    def run() -> None:
        for _ in range(3):
            answers.append(digits(before.transform(slow)))

    running = threading.Thread(target=run)
    running.start()
    for digit in (1, 2):
        fit_model(spark, events, digit).write().overwrite().option("retentionHours", 1).save(path)
    running.join()
    assert answers == [[(0, 100)]] * 3
    assert digits(MatcherModel.load(path).transform(events)) == [(2, 100)]
    # A model that was loaded before still has its version, also in a new worker.
    assert digits(before.transform(events)) == [(0, 100)]


def test_versions_are_deleted_after_retention(
    spark: SparkSession, events: DataFrame, tmp_path: Path
) -> None:
    path = str(tmp_path / "model")
    for digit in (1, 2, 3):
        model = fit_model(spark, events, digit)
        model.write().overwrite().option("retentionHours", 0).save(path)
    assert len(list((tmp_path / "model/store/versions").iterdir())) == 1


@pytest.mark.connect
def test_update_adds_replaces_and_removes(spark: SparkSession, events: DataFrame) -> None:
    from covey.spark import Matcher

    first = Matcher(eventSchema=events.schema).fit(
        alerts(spark, (1, "digit = 1"), (2, "digit = 2"), (3, "digit = 3"))
    )
    second = first.update(
        alerts(spark, (2, None), (3, "digit + 1 = 5"), (4, "digit = 9"), (5, "x"))
    )
    assert second.storeVersion == first.storeVersion + 1
    assert second.numSubscriptions == 3
    assert [row["id"] for row in second.rejectedSubscriptions.collect()] == [5]
    assert digits(first.transform(events)) == [(1, 100), (2, 100), (3, 100)]
    assert digits(second.transform(events)) == [(1, 100), (4, 100), (9, 100)]


@pytest.mark.connect
def test_update_applies_a_change_feed(spark: SparkSession, events: DataFrame) -> None:
    from covey.spark import Matcher

    model = Matcher(eventSchema=events.schema).fit(
        alerts(spark, (1, "digit = 1"), (2, "digit = 2"))
    )
    feed = spark.createDataFrame(
        [
            (1, "digit = 1", "delete", 5),
            (2, "digit = 2", "update_preimage", 5),
            (2, "digit = 3", "update_postimage", 5),
            (2, "digit = 3", "update_preimage", 6),
            (2, "digit = 4", "update_postimage", 6),
            (3, "digit = 7", "insert", 6),
            (3, "digit = 7", "delete", 7),
            (4, "digit = 8", "delete", 8),
            (4, "digit = 9", "insert", 8),
            (5, "digit = 5", "insert", 8),
            (5, "digit = 5", "update_preimage", 9),
            (6, "digit = 5", "update_postimage", 9),
        ],
        "id int, predicate string, _change_type string, _commit_version long",
    )
    assert digits(model.update(feed).transform(events)) == [(4, 100), (5, 100), (9, 100)]


def test_a_deletion_of_a_change_feed_works_with_range_columns(
    spark: SparkSession, events: DataFrame
) -> None:
    from covey.spark import Matcher

    rows = [(n, n, n, "insert") for n in range(5)]
    columns = "id int, low int, high int, _change_type string"
    matcher = Matcher(eventSchema=events.schema, rangeCols={"digit": ("low", "high")})
    model = matcher.fit(spark.createDataFrame(rows, columns).drop("_change_type"))
    changed = model.update(
        spark.createDataFrame([(1, 1, 1, "delete"), (2, 7, 8, "insert")], columns)
    )
    assert changed.numSubscriptions == 4
    assert digits(changed.transform(events)) == [(n, 100) for n in (0, 3, 4, 7, 8)]


def test_updates_are_merged(spark: SparkSession, events: DataFrame) -> None:
    from covey.spark import Matcher
    from covey.store import Store

    def make_subscriptions(first: int) -> DataFrame:
        return spark.range(first, first + 9_000).selectExpr(
            "int(id) AS id", "int(id % 20) AS low", "int(id % 20) AS high"
        )

    matcher = Matcher(eventSchema=events.schema, rangeCols={"digit": ("low", "high")})
    model = matcher.fit(make_subscriptions(0))
    for n in (1, 2):
        model = model.update(make_subscriptions(9_000 * n))
        assert (
            len(Store.open(model._state.location).snapshot(model.storeVersion).live_segments) == 1
        )
    assert model.numSubscriptions == 27_000
    assert model.transform(events).count() == 1_000 * 27_000 // 20


@pytest.mark.connect
def test_an_updated_model_can_replace_its_saved_origin(
    spark: SparkSession, events: DataFrame, tmp_path: Path
) -> None:
    from covey.spark import MatcherModel

    path = str(tmp_path / "model")
    fit_model(spark, events, 1).save(path)
    updated = MatcherModel.load(path).update(alerts(spark, (7, "digit = 7")))
    assert digits(MatcherModel.load(path).transform(events)) == [(1, 100)]
    updated.write().overwrite().save(path)
    assert digits(MatcherModel.load(path).transform(events)) == [(1, 100), (7, 100)]


def test_an_update_builds_on_its_model_and_not_on_later_updates(
    spark: SparkSession, events: DataFrame
) -> None:
    from covey.spark import Matcher

    first = Matcher(eventSchema=events.schema).fit(alerts(spark, (1, "digit = 1")))
    second = first.update(alerts(spark, (2, "digit = 2")))
    third = first.update(alerts(spark, (3, "digit = 3")))
    assert digits(second.transform(events)) == [(1, 100), (2, 100)]
    assert digits(third.transform(events)) == [(1, 100), (3, 100)]
    with pytest.raises(
        InvalidArgumentError, match="'id' is bigint, but the ids of the model are int"
    ):
        first.update(
            alerts(spark, (4, "digit = 4")).selectExpr("CAST(id AS BIGINT) id", "predicate")
        )


def test_a_model_that_is_saved_again_becomes_the_newest(
    spark: SparkSession, events: DataFrame, tmp_path: Path
) -> None:
    """Saving an older version again: retention must not delete its files."""
    from covey.spark import MatcherModel

    path = str(tmp_path / "model")
    fit_model(spark, events, 1).save(path)
    old = MatcherModel.load(path)
    old.update(alerts(spark, (2, "digit = 2"))).write().overwrite().save(path)
    old.write().overwrite().option("retentionHours", 0).save(path)
    fit_model(spark, events, 5)
    assert digits(MatcherModel.load(path).transform(events)) == [(1, 100)]


def test_a_recreated_store_is_not_mistaken_for_the_old_one(
    spark: SparkSession, events: DataFrame, tmp_path: Path
) -> None:
    import shutil

    from covey.spark import MatcherModel

    path = str(tmp_path / "model")
    fit_model(spark, events, 1).save(path)
    assert digits(MatcherModel.load(path).transform(events)) == [(1, 100)]
    shutil.rmtree(path)
    fit_model(spark, events, 2).save(path)
    assert digits(MatcherModel.load(path).transform(events)) == [(2, 100)]


def test_a_column_with_the_name_of_an_expression_is_not_used_for_it(
    spark: SparkSession, events: DataFrame
) -> None:
    from covey.spark import Matcher

    model = Matcher(eventSchema=events.schema).fit(alerts(spark, (1, "digit * 2 = 8")))
    misleading = events.selectExpr("*", "8 AS `digit * 2`")
    assert digits(model.transform(misleading)) == [(4, 100)]


@pytest.mark.connect
@pytest.mark.connect
def test_a_second_transform_notices_what_has_changed(
    spark: SparkSession, events: DataFrame
) -> None:
    model = fit_model(spark, events, 3)
    first = model.transform(events)
    assert model.transform(events).schema == first.schema
    assert model.transform(events.where("digit = 3")).count() == 100
    with pytest.raises(SchemaError, match="'digit' is string"):
        model.transform(events.selectExpr("n", "CAST(digit AS STRING) AS digit"))
    with pytest.raises(SchemaError, match="no column 'digit'"):
        model.transform(events.drop("digit"))
    spark.conf.set("spark.sql.legacy.sizeOfNull", "false")
    with pytest.raises(SchemaError, match="sizeOfNull was true and is false"):
        model.transform(events)
    spark.conf.unset("spark.sql.legacy.sizeOfNull")
    assert digits(model.transform(events)) == [(3, 100)]
    renamed = model.copy({model.getParam("outputCol"): "found"})
    assert renamed.transform(events).columns == ["n", "digit", "found"]
    assert model.transform(events, {model.getParam("outputMode"): "arrays"}).count() == 1_000
    assert model.transform(events).schema == first.schema


def test_a_stream_is_transformed(spark: SparkSession, events: DataFrame, tmp_path: Path) -> None:
    source, out = str(tmp_path / "events"), str(tmp_path / "matches")
    events.write.parquet(source)
    model = fit_model(spark, events, 6)
    stream = spark.readStream.schema(events.schema).parquet(source)
    query = (
        model.transform(stream)
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(out)
    )
    assert query.awaitTermination(120)
    assert digits(spark.read.parquet(out)) == [(6, 100)]


@pytest.mark.parametrize("output", ["pairs", "arrays"])
@pytest.mark.connect
def test_sql_returns_the_same_as_transform(
    spark: SparkSession, events: DataFrame, output: str
) -> None:
    model = fit_model(spark, events, 8, outputMode=output)
    model.registerTableFunction("digit_match")
    events.createOrReplaceTempView("digit_events")
    rows = spark.sql("SELECT * FROM digit_match(TABLE(digit_events))").collect()
    assert sorted(rows) == sorted(model.transform(events).collect())


def test_column_names_in_sql_are_case_insensitive(spark: SparkSession, events: DataFrame) -> None:
    fit_model(spark, events, 7).registerTableFunction("in_any_letters")
    events.toDF("N", "Digit").createOrReplaceTempView("loud")
    assert digits(spark.sql("SELECT * FROM in_any_letters(TABLE(loud))")) == [(7, 100)]


@pytest.mark.connect
def test_sql_names_the_missing_expression(spark: SparkSession, events: DataFrame) -> None:
    from covey.spark import Matcher

    Matcher(eventSchema=events.schema).fit(
        alerts(spark, (1, "digit * 2 = 8"))
    ).registerTableFunction("doubled")
    events.createOrReplaceTempView("digit_events")
    query = "SELECT *, digit * 2 AS `digit * 2` FROM digit_events"
    assert spark.sql(f"SELECT * FROM doubled(TABLE({query}))").count() == 100
    with pytest.raises(Exception, match=r"no column .*digit \* 2.*TABLE\(SELECT"):
        spark.sql("SELECT * FROM doubled(TABLE(digit_events))").collect()


@pytest.mark.connect
def test_sql_refuses_another_session_time_zone(spark: SparkSession, events: DataFrame) -> None:
    model = fit_model(spark, events, 8)
    configure_session(spark, SessionSettings("Asia/Tokyo"))
    with pytest.raises(SchemaError, match="Asia/Tokyo"):
        model.registerTableFunction("tokyo")
