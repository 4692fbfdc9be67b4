"""`match`, `Matcher` and `transform`, compared with Spark's own `where`."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from covey import SessionSettings
from covey.errors import InvalidArgumentError, PredicateError, SchemaError
from covey.testing.random_cases import random_events, random_predicate, random_space
from covey.testing.spark_oracle import configure_session, match_with_spark, to_ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.integration

EVENTS = [
    (1, "ACME", 125.0, ["a", "b"]),
    (2, "BETA", 9.0, []),
    (3, None, None, None),
    (4, "ACME", float("nan"), ["b", None]),
]
ALERTS = [
    (10, "symbol = 'ACME' AND price > 120"),
    (11, "price > 100 OR symbol LIKE 'B%' OR symbol = 'BETA'"),
    (12, "symbol IS NULL"),
    (13, "array_contains(tags, 'b') AND price < 1000"),
    (14, "price * 2 > 249"),
    (15, "price < 1 AND price > 2"),
]


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    configure_session(spark, SessionSettings())
    return spark.createDataFrame(EVENTS, "n int, symbol string, price double, tags array<string>")


@pytest.fixture
def alerts(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ALERTS, "id long, predicate string")


def expected(events: DataFrame, alerts: list[tuple[Any, str]]) -> set[tuple[Any, Any]]:
    """Return the pairs of event and subscription that `where` finds."""
    return match_with_spark(events, dict(alerts), "n")


def pairs(matches: DataFrame, name: str = "id") -> list[tuple[Any, Any]]:
    return [(row["n"], row[name]) for row in matches.collect()]


@pytest.mark.connect
def test_pairs_are_those_that_where_finds(events: DataFrame, alerts: DataFrame) -> None:
    from covey.spark import match

    found = pairs(match(events, alerts))
    assert len(found) == len(set(found))
    assert set(found) == expected(events, ALERTS)


@pytest.mark.connect
def test_arrays_have_a_row_for_each_event(events: DataFrame, alerts: DataFrame) -> None:
    from covey.spark import match

    rows = match(events, alerts, outputMode="arrays", eventCols=["n"]).collect()
    assert rows[0].asDict().keys() == {"n", "matches"}
    assert {row["n"]: set(row["matches"]) for row in rows} == {
        n: {id_ for m, id_ in expected(events, ALERTS) if m == n} for n, *_ in EVENTS
    }


@pytest.mark.parametrize(
    ("settings", "seed", "zoned"),
    [
        (SessionSettings("America/New_York", True), 3, {}),
        (SessionSettings("Europe/Berlin", False), 4, {}),
        (SessionSettings("Europe/Berlin", True), 5, {"zones": 9}),
        (SessionSettings("Europe/Berlin", False), 6, {"zones": 9, "replication": "smart"}),
    ],
    ids=str,
)
def test_random_predicates_match_like_spark(
    spark: SparkSession,
    settings: SessionSettings,
    seed: int,
    zoned: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from covey.spark import Matcher

    # Most of these predicates are so wide that no split pays; they are split nevertheless.
    monkeypatch.setattr("covey.zones.build_tree._MAX_COPIED_SHARE", float("inf"))
    configure_session(spark, settings)
    random_ = random.Random(seed)
    space = random_space(settings)
    table = random_events(random_, space, 60)
    schema = ", ".join(f"`{column.name}` {to_ddl(column.type)}" for column in space.columns)
    numbered = table.append_column("n", pa.array(range(len(table)), pa.int32()))
    frame = spark.createDataFrame(numbered, f"{schema}, n int").coalesce(2)
    texts = [(i, random_predicate(random_, space)) for i in range(120)]
    vectors = {c.name: c.type.length for c in space.columns if c.type.is_vector}
    # `where` raises on vectors of another length: only the other rows are compared.
    whole = frame
    for name, length in vectors.items():
        whole = whole.where(f"{name} IS NULL OR size({name}) = {length}")
    matcher = Matcher(eventSchema=frame.schema, vectors=vectors, eventCols=["n"], **zoned)
    subscriptions = spark.createDataFrame(texts, "id int, predicate string")
    model = matcher.fit(subscriptions, events=whole if zoned else None)
    assert model.numZones == zoned.get("zones", 1)
    rejected = {row["id"] for row in model.rejectedSubscriptions.collect()}
    assert len(rejected) <= 0.05 * len(texts)
    taken = [(id_, text) for id_, text in texts if id_ not in rejected]
    found = pairs(model.transform(whole))
    assert len(found) == len(set(found))
    assert set(found) == expected(whole, taken)


@pytest.mark.parametrize(
    ("ddl", "ids"),
    [
        ("tinyint", [1, -1]),
        ("int", [7, 2**31 - 1]),
        ("bigint", [-(2**63), 2**63 - 1]),
        ("string", ["6f0e2c8e-6b9e-4f5e-9a0a-1c2d3e4f5a6b", "é\0"]),
        ("binary", [b"\x00\xff" * 8, b""]),
        ("decimal(20,2)", [Decimal("-0.10"), Decimal("123456789012345678.01")]),
        ("date", [dt.date(1582, 10, 15), dt.date(2024, 2, 29)]),
        ("timestamp", [dt.datetime(2024, 1, 1, 3), dt.datetime(1999, 12, 31, 23, 59, 59, 999999)]),
        ("timestamp_ntz", [dt.datetime(2024, 1, 1, 3), dt.datetime(1800, 1, 1)]),
    ],
)
@pytest.mark.parametrize("output", ["pairs", "arrays"])
def test_ids_keep_type_and_value(
    spark: SparkSession, events: DataFrame, ddl: str, ids: list[Any], output: str
) -> None:
    from covey.spark import match

    alerts = spark.createDataFrame([(one, "n = 1") for one in ids], f"who {ddl}, predicate string")
    found = match(events, alerts, idCol="who", outputMode=output, eventCols=[])
    name = "who" if output == "pairs" else "matches"
    element = found.schema[name].dataType
    element = element if output == "pairs" else element.elementType  # type: ignore[attr-defined]
    assert element == alerts.schema["who"].dataType
    rows = [row[name] for row in found.collect()]
    flat = rows if output == "pairs" else [one for row in rows for one in row]
    assert sorted(flat) == sorted(row["who"] for row in alerts.collect())


@pytest.mark.connect
def test_wrong_subscriptions_are_rejected_and_the_others_matched(
    spark: SparkSession, events: DataFrame
) -> None:
    from covey.spark import Matcher

    alerts = spark.createDataFrame(
        [(1, "price > 5"), (2, "price >"), (3, "prise > 5"), (4, None), (None, "price > 5"),
         (6, "price > 7"), (6, "price > 8")],
        "id int, predicate string",
    )  # fmt: skip
    model = Matcher(eventSchema=events.schema).fit(alerts)
    rejected = {row["id"]: row for row in model.rejectedSubscriptions.collect()}
    assert rejected.keys() == {2, 3, 4, None, 6}
    assert (rejected[3]["line"], rejected[3]["column"]) == (1, 1)
    assert "did you mean price" in rejected[3]["error"]
    assert rejected[3]["predicate"] == "prise > 5"
    assert "more than once" in rejected[6]["error"]
    assert "null" in rejected[4]["error"]
    assert "null" in rejected[None]["error"]
    assert model.numSubscriptions == 1
    assert set(pairs(model.transform(events))) == {(1, 1), (2, 1), (4, 1)}


@pytest.mark.connect
def test_handle_invalid_error_raises_the_first_error(
    spark: SparkSession, events: DataFrame
) -> None:
    from covey.spark import Matcher

    alerts = spark.createDataFrame([(1, "price > 5"), (2, "prise > 5")], "id int, predicate string")
    with pytest.raises(PredicateError, match=r"subscription 2: .*prise"):
        Matcher(eventSchema=events.schema, handleInvalid="error").fit(alerts)
    nameless = spark.createDataFrame([(None, "price > 5")], "id int, predicate string")
    with pytest.raises(PredicateError, match=r"subscription without an id: .*\n  price > 5\n"):
        Matcher(eventSchema=events.schema, handleInvalid="error").fit(nameless)


def test_vectors_of_another_length_match_nothing(spark: SparkSession) -> None:
    from covey.spark import match

    configure_session(spark, SessionSettings())
    events = spark.createDataFrame(
        [(1, [0.0, 1.0]), (2, [0.0]), (3, None), (4, [0.0, None])], "n int, v array<float>"
    )
    alerts = [(1, "vector_l2_distance(v, array(0F, 0F)) < 5"), (2, "v IS NULL")]
    frame = spark.createDataFrame(alerts, "id int, predicate string")
    assert set(pairs(match(events, frame, vectors={"v": 2}))) == {(1, 1), (3, 2)}


@pytest.mark.connect
def test_range_columns_match_like_predicates(spark: SparkSession, events: DataFrame) -> None:
    from covey.spark import match

    alerts = spark.createDataFrame(
        [(1, 9.0, 125.0, None), (2, None, 100.0, "B"), (3, 100.0, None, None), (4, 5.0, 1.0, None),
         (5, None, None, None)],
        "id int, low double, high double, first string",
    )  # fmt: skip
    ranges = {"price": ("low", "high"), "symbol": ("first", "first")}
    found = set(pairs(match(events, alerts, rangeCols=ranges)))
    as_predicates = [(1, "price BETWEEN 9 AND 125"), (2, "price <= 100 AND symbol = 'B'"),
                     (3, "price >= 100"), (4, "price BETWEEN 5 AND 1"), (5, "true")]  # fmt: skip
    assert found == expected(events, as_predicates)


def test_range_ends_are_not_rounded(spark: SparkSession, events: DataFrame) -> None:
    from covey.spark import Matcher, match

    alerts = spark.createDataFrame([(1, 9, 125, 2**53 + 1)], "id int, low int, high int, odd long")
    found = pairs(match(events, alerts, rangeCols={"price": ("low", "high")}))
    assert set(found) == expected(events, [(1, "price BETWEEN 9 AND 125")])
    with pytest.raises(
        InvalidArgumentError,
        match=r"'odd' is bigint, but attribute 'price' is double.*cast the column",
    ):
        match(events, alerts, rangeCols={"price": ("low", "odd")})
    with pytest.raises(
        InvalidArgumentError, match=r"'low' is int, but attribute 'tags' is array<string>"
    ):
        match(events, alerts, rangeCols={"tags": ("low", "high")})
    with pytest.raises(
        InvalidArgumentError, match=r"'odd' is bigint, but the time of events is timestamp"
    ):
        Matcher(eventSchema=events.schema, rangeCols={}, validToCol="odd").fit(alerts)


@pytest.mark.connect
def test_any_number_of_different_expressions_is_accepted(
    spark: SparkSession, events: DataFrame
) -> None:
    from covey.spark import match

    texts = [(n, f"n + {n} = 10") for n in range(1, 80)]
    alerts = spark.createDataFrame(texts, "id int, predicate string")
    found = pairs(match(events, alerts, handleInvalid="error"))
    assert set(found) == expected(events, texts)


@pytest.mark.connect
def test_no_subscriptions_match_nothing(spark: SparkSession, events: DataFrame) -> None:
    from covey.spark import match

    none = spark.createDataFrame([], "id int, predicate string")
    assert match(events, none).collect() == []
    arrays = match(events, none, outputMode="arrays", eventCols=["n"]).collect()
    assert [(row["n"], row["matches"]) for row in arrays] == [(n, []) for n, *_ in EVENTS]
    assert match(events.limit(0), none).collect() == []


@pytest.mark.connect
def test_messages_of_mistakes_say_what_to_do(
    spark: SparkSession, events: DataFrame, alerts: DataFrame
) -> None:
    from covey.spark import Matcher, match

    with pytest.raises(InvalidArgumentError, match=r"no column 'alert'.*idCol.*id, predicate"):
        match(events, alerts, idCol="alert")
    with pytest.raises(InvalidArgumentError, match="be strings, but column 'id' is bigint"):
        match(events, alerts, predicateCol="id")
    with pytest.raises(
        InvalidArgumentError,
        match=r"eventCols contains 'x', but the columns of the events are n, symbol",
    ):
        match(events, alerts, eventCols=["x"])
    with pytest.raises(InvalidArgumentError, match=r"two columns 'id'.*outputCol"):
        match(events.withColumnRenamed("n", "ID"), alerts)
    with pytest.raises(InvalidArgumentError, match="must be 'pairs' or 'arrays', got 'rows'"):
        Matcher(outputMode="rows")
    with pytest.raises(InvalidArgumentError, match=r"no parameter rows: use one of eventCols, "):
        Matcher().setParams(rows=1)
    with pytest.raises(
        InvalidArgumentError,
        match=r"each vector column to its number of elements.* got \{'v': 'x'\}",
    ):
        Matcher(vectors={"v": "x"})  # type: ignore[dict-item]
    with pytest.raises(
        InvalidArgumentError, match=r"two columns for each attribute.* got \{'n': 'ab'\}"
    ):
        Matcher(rangeCols={"n": "ab"})
    with pytest.raises(InvalidArgumentError, match="eventSchema is missing"):
        Matcher().fit(alerts)
    with pytest.raises(InvalidArgumentError, match=r"'price' is double, which cannot be an id"):
        match(events, events.selectExpr("price", "symbol AS predicate"), idCol="price")
    model = Matcher(eventSchema=events.schema).fit(alerts)
    with pytest.raises(SchemaError, match="no column 'price'"):
        model.transform(events.drop("price"))
    with pytest.raises(SchemaError, match=r"'price' is string in the events, but double"):
        model.transform(events.withColumn("price", events["price"].cast("string")))
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(SchemaError, match="caseSensitive is true"):
            model.transform(events)
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    configure_session(spark, SessionSettings("Asia/Tokyo"))
    with pytest.raises(SchemaError, match=r"session.timeZone was UTC and is Asia/Tokyo"):
        model.transform(events)


def test_column_names_are_case_insensitive(
    spark: SparkSession, events: DataFrame, alerts: DataFrame
) -> None:
    from covey.spark import Matcher

    model = Matcher(eventSchema=events.schema, eventCols=["N"]).fit(alerts)
    loud = events.toDF("n", "SYMBOL", "Price", "tags")
    assert set(pairs(model.transform(loud))) == expected(events, ALERTS)


def test_validity_intervals_are_compared_with_the_time_of_events(spark: SparkSession) -> None:
    from covey.spark import match

    configure_session(spark, SessionSettings("Europe/Berlin"))
    times = [f"2024-05-01 {hour:02}:00:00" for hour in range(4)]
    events = spark.createDataFrame(
        [(i, t) for i, t in enumerate(times)] + [(9, None)], "n int, t string"
    )
    events = events.selectExpr("n", "CAST(t AS TIMESTAMP) AS t")
    alerts = spark.createDataFrame(
        [(1, times[1], times[3]), (2, None, times[1]), (3, times[2], None), (4, None, None)],
        "id int, since string, until string",
    ).selectExpr("id", "'n >= 0' AS predicate", "timestamp(since) AS since",
                 "timestamp(until) AS until")  # fmt: skip
    found = set(
        pairs(match(events, alerts, validFromCol="since", validToCol="until", eventTimeCol="t"))
    )
    lives = [(1, f"t >= '{times[1]}' AND t < '{times[3]}'"), (2, f"t < '{times[1]}'"),
             (3, f"t >= '{times[2]}'"), (4, "true")]  # fmt: skip
    assert found == expected(events, lives)


@pytest.mark.connect
def test_validity_intervals_without_event_times_are_compared_with_now(
    spark: SparkSession, events: DataFrame
) -> None:
    from covey.spark import match

    alerts = spark.sql(
        "SELECT 1 AS id, 'n = 1' AS predicate, now() - INTERVAL 1 HOUR AS since, NULL AS until "
        "UNION ALL SELECT 2, 'n = 1', now() + INTERVAL 1 HOUR, NULL "
        "UNION ALL SELECT 3, 'n = 1', NULL, now() - INTERVAL 1 HOUR"
    )
    found = pairs(match(events, alerts, validFromCol="since", validToCol="until"))
    assert found == [(1, 1)]
