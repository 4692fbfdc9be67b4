"""Subscriptions are isolated: a refused, failing or expensive one does not affect the others."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from covey import SessionSettings
from covey.testing.spark_oracle import configure_session, match_with_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.integration,
    pytest.mark.connect,
    # Spark refuses some expressions only when it compiles them.
    pytest.mark.usefixtures("code_generation"),
]

SCHEMA = (
    "n INT, sym STRING, price DOUBLE, qty INT, tags ARRAY<STRING>, attrs MAP<STRING, STRING>, "
    "ts TIMESTAMP, d DECIMAL(10, 2)"
)
NORMAL = ["price > 5", "sym = '12' OR qty < 0", "price IS NULL", "lower(sym) = 'x'", "n >= 0"]
RAISING = [
    "qty <> 0 AND price / qty > 5",
    "price / qty > 5",
    "price / qty > 5 AND qty <> 0",
    "price / qty > 5 OR sym = 'x'",
    "sym = 'x' OR price / qty > 5",
    "NOT (price / qty > 5)",
    "NOT (qty = 0 OR price / qty <= 5)",
    "price / qty IS NULL",
    "price / qty IS NOT NULL OR n = 2",
    "price / qty <=> NULL",
    "NOT (price / qty <=> 5)",
    "price / qty IN (5, 6)",
    "price / qty NOT IN (5, 6)",
    "price / qty BETWEEN 1 AND 10",
    "(price / qty > 5) = (sym = 'x')",
    "coalesce(price / qty, 0) = 0",
    "CASE WHEN qty = 0 THEN 0 ELSE price / qty END < 6",
    "sym RLIKE '^[0-9]+$' AND CAST(sym AS INT) > 5",
    "CAST(sym AS INT) > 5",
    "CAST(sym AS INT) IS NULL",
    "sym > 5",
    "sym = 12 OR n = 3",
    "sym IN (12, 13)",
    "size(tags) > 0 AND tags[0] = 'a'",
    "tags[0] = 'a'",
    "tags[0] IS NULL OR n = 1",
    "element_at(tags, 1) LIKE 'a%'",
    "date_add(DATE '2020-01-01', CAST(sym AS INT)) > DATE '2020-01-05'",
    "qty * 2147483647 > 5",
    "qty + 2147483647 > 5 OR price > 1",
    "to_date(sym, 'yyyy') = DATE '2012-01-01' OR n = 1",
    "element_at(attrs, 'k') = 'v'",
    # Spark knows that this is never null, and does not evaluate it
    "(qty <=> 'x') IS NOT NULL AND n < 5",
    "NOT ((qty <=> sym) IS NULL)",
    "hash(price / qty) IS NOT NULL",
    "isnotnull(xxhash64(CAST(sym AS INT))) AND n > 2",
    "isnull(hash(price / qty)) OR n = 4",
    # These have a form without exceptions, which has to be null in the same places
    "NOT (CAST(sym AS INT) BETWEEN 3 AND qty)",
    "NOT (qty BETWEEN 100 AND CAST(sym AS INT))",
    "NOT (qty IN (2, CAST(sym AS INT)))",
    "NOT (CAST(sym AS INT) IN (3, qty, NULL))",
    "concat(sym, CAST(qty * 2147483647 AS STRING)) > '1'",
    "concat_ws(',', sym, CAST(CAST(sym AS INT) AS STRING)) > ''",
    "CAST(sym AS INT) - qty > 5 OR CAST(sym AS INT) * d > 30",
    "d / qty > 0.5 AND NOT (d / qty > 5)",
    "CAST(sym AS INT) <=> qty OR n = 5",
    "size(split(CAST(CAST(sym AS INT) AS STRING), '1')) < 0 OR n = 0",
    "CAST(sym AS DATE) > DATE '2000-01-01' OR CAST(price AS INT) > 7",
    "- CAST(sym AS INT) < length(sym) - qty * 2147483647",
]
REFUSED = {
    "medain(price) > 1": "no function 'medain' is known",
    "price div 10 = 12": "",
    "tags['a'] = 'x'": "",
    "sym LIKE 'a' ESCAPE 'ab'": "",
    "CAST(max(price) AS DOUBLE) > 1": "max() depends on more than the event",
    "CAST(explode(tags) AS STRING) = 'a'": "explode() turns events into other rows",
    "CAST(window(ts, '1 hour') AS STRING) = 'x'": "window() turns events into other rows",
    "CAST(reflect('java.lang.System', 'setProperty', 'a', sym) AS STRING) IS NULL": "reflect()",
    "lower(sym, sym) = 'a'": "",
    "md5(price, qty) = 'a'": "",
    "CAST(tags AS INT) = 1": "",
    "date_format(ts, 'no such pattern') = 'x'": "",
    "sym RLIKE '('": "",
    "sym LIKE 'a\\\\'": "",
    "from_utc_timestamp(ts, 'Nowhere/Land') > ts": "",
    "map_from_arrays(tags, tags) IS NULL": "map_from_arrays() makes Spark fail on all later events",
    "str_to_map(sym)['a'] = 'b'": "str_to_map() makes Spark fail on all later events",
    "xpath_string(sym, 'a') = 'x'": "xpath_string() may read files and URLs",
    "hll_sketch_estimate(unhex(sym)) > 1": "hll_sketch_estimate() can crash Spark",
    "st_srid(st_geomfromwkb(unhex(sym))) = 4326": "st_geomfromwkb() can crash Spark",
    "parse_url(sym, 'QUERY', '(a|b)*') = 'x'": "a part is repeated too often",
    "sym RLIKE '(a|b)*c'": "a part is repeated too often",
    f"date_format(ts, '{'[' * 30_000}y{']' * 30_000}') = 'x'": "at most 200 characters",
    "date_format(ts, sym) = 'x'": "the format of date_format must be a literal",
    f"from_json(sym, 'a {'ARRAY<' * 350}INT{'>' * 350}') IS NULL": "nested brackets",
    "sym || 'a'" + " || 'a'" * 330 + " = 'b'": "",
}


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    configure_session(spark, SessionSettings())
    rows: list[tuple[Any, ...]] = [
        (0, "12", 10.0, 2, ["a"], {"k": "v"}, None, None),
        (1, "x", 10.0, 0, [], {}, None, None),
        (2, None, None, 0, None, None, None, None),
        (3, "3", 60.0, 3, ["b", None], {"k": "w"}, None, None),
        (4, "2012", -5.0, -1, ["abc"], {"j": "v"}, None, None),
        (5, "X", 5.0, 1, [None], None, None, None),
        (6, "99999999999", 1e300, 2147483647, ["a", "b"], {"k": None}, None, None),
    ]
    # Through Spark Connect, rows of Python are part of the plan. The optimizer would evaluate
    # conditions on them before it simplifies these, and `where` would raise more errors.
    return spark.createDataFrame(rows, SCHEMA).localCheckpoint()


@pytest.fixture(params=[64, 0], ids=["attributes", "late"])
def max_attributes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the largest number of derived attributes; with 0, all such conditions are late."""
    monkeypatch.setattr("covey.spark.fitting.expression_analysis.MAX_ATTRIBUTES", request.param)
    return int(request.param)


def match_texts(events: DataFrame, texts: list[str]) -> tuple[set[tuple[int, str]], dict[str, str]]:
    """Return the matching pairs of event and predicate, and the reasons of refused predicates."""
    from covey.spark import Matcher

    ids = dict(enumerate(texts))
    frame = events.sparkSession.createDataFrame(list(ids.items()), "id INT, predicate STRING")
    model = Matcher(eventSchema=events.schema, eventCols=["n"]).fit(frame)
    pairs = {(row["n"], ids[row["id"]]) for row in model.transform(events).collect()}
    refused = {ids[row["id"]]: row["error"] for row in model.rejectedSubscriptions.collect()}
    return pairs, refused


@pytest.mark.usefixtures("max_attributes")
def test_an_event_on_which_a_predicate_raises_does_not_match_and_affects_no_other(
    spark: SparkSession, events: DataFrame
) -> None:
    texts = [*NORMAL, *RAISING]
    pairs, refused = match_texts(events, texts)
    assert refused == {}
    assert pairs == match_with_spark(events, {text: text for text in texts}, "n")


@pytest.mark.parametrize("ansi", [True, False])
def test_numbers_and_days_out_of_the_range_of_a_function_affect_no_other_event(
    spark: SparkSession, ansi: bool
) -> None:
    configure_session(spark, SessionSettings(ansi=ansi))
    frame = spark.sql("""
        SELECT n, l, date_add(DATE'1970-01-01', d) AS day, 'abc' AS t, TIMESTAMP'2024-01-01' AS ts
        FROM VALUES (0, 1L, 0), (1, 2147483648L, 2147483647), (2, -9223372036854775808L, -99999999)
        AS t(n, l, d)
    """)
    texts = [
        "substring(t, l) = 'abc'", "substr(t, 1, l) = 'a'", "left(t, l) = 'a'",
        "right(t, l) = 'c'", "hour(day) = 0", "minute(day) = 0", "CAST(day AS TIMESTAMP) > ts",
        "day < ts", "year(day) > 5000", "TRY_CAST(day AS TIMESTAMP) IS NULL", "n >= 0",
    ]  # fmt: skip
    try:
        pairs, refused = match_texts(frame, texts)
        expected = match_with_spark(frame, {text: text for text in texts}, "n")
    finally:
        configure_session(spark, SessionSettings())
    assert refused == {}
    assert pairs == expected
    assert len([one for one in pairs if one[1] == "n >= 0"]) == 3


@pytest.mark.parametrize("text", RAISING[:8])
def test_the_oracle_equals_where_on_single_rows(
    spark: SparkSession, events: DataFrame, text: str
) -> None:
    from pyspark.errors import PySparkException

    accepted = set()
    for n in range(7):
        alone = events.where(f"n = {n}").coalesce(1).localCheckpoint()
        try:
            accepted |= {(row["n"], text) for row in alone.where(text).collect()}
        except PySparkException:
            continue
    assert accepted == match_with_spark(events, {text: text}, "n")


@pytest.mark.usefixtures("max_attributes")
def test_predicates_that_spark_refuses_are_rejected_alone_with_the_reason(
    events: DataFrame,
) -> None:
    alone, _ = match_texts(events, NORMAL)
    pairs, refused = match_texts(events, [*NORMAL, *REFUSED])
    assert pairs == alone
    assert set(refused) == set(REFUSED)
    for text, reason in REFUSED.items():
        assert reason in refused[text], text


def test_the_deepest_accepted_patterns_fit_the_stack_on_long_texts(
    spark: SparkSession, events: DataFrame
) -> None:
    texts = [
        "sym RLIKE '^(a|b)*+$'", "sym RLIKE '(ab?){90}c'", "sym RLIKE '(a|b){120}c'",
        f"sym RLIKE '^{'.' * 900}c'", f"sym LIKE '{'_' * 900}c'", "sym RLIKE '^.{0,900}c'",
        "sym RLIKE '^(?=.*a)(?:[ab]*+|c)b$'", f"sym RLIKE '{'(' * 45}a{')' * 45}c'",
        "parse_url(sym, 'QUERY', 'a|b') IS NULL",
    ]  # fmt: skip
    units = "CASE n % 3 WHEN 0 THEN 'ab' WHEN 1 THEN 'aa' ELSE 'a\U0001f600' END"
    frame = events.selectExpr("n", f"repeat({units}, 10000) AS sym")
    pairs, refused = match_texts(frame, texts)
    assert refused == {}
    assert pairs == match_with_spark(frame, {text: text for text in texts}, "n")


def test_spark_does_not_log_refused_predicates(spark: SparkSession, events: DataFrame) -> None:
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger

    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    logger.addHandler(handler)
    try:
        match_texts(events, list(REFUSED))
        assert records == []
        with pytest.raises(PySparkException):
            spark.sql("SELECT lower('a', 'b')").collect()
        assert len(records) == 1
    finally:
        logger.removeHandler(handler)


@pytest.mark.usefixtures("max_attributes")
def test_functions_that_only_spark_knows_have_their_types(
    spark: SparkSession, events: DataFrame
) -> None:
    texts = [
        "md5(sym) = 'c20ad4d76fe97759aa27a0c99bff6710'", "attrs['k'] = 'v'", "attrs IS NULL",
        "date_format(ts, 'HH:mm') >= '09:30' OR n = 1", "sha2(sym, 256) LIKE 'a%'",
        "map_contains_key(attrs, 'k')", "try_divide(price, qty) > 5", "array_max(tags) = 'b'",
        "nullif(qty, 0) IS NULL", "attrs = attrs OR n = 1", "regexp_count(sym, '1') = 1",
    ]  # fmt: skip
    pairs, refused = match_texts(events, texts)
    assert set(refused) <= {"attrs = attrs OR n = 1"}
    accepted = [text for text in texts if text not in refused]
    assert pairs == match_with_spark(events, {text: text for text in accepted}, "n")


@pytest.mark.usefixtures("max_attributes")
def test_an_expression_has_the_type_of_its_own_literals(spark: SparkSession) -> None:
    values = [
        ("0.2", "0.20"), ("0.1428571429", "12.35"), ("-3.5", "-0.01"), ("1" * 27, "99999999.99")
    ]  # fmt: skip
    rows = [(n, Decimal(q), Decimal(d), n) for n, (q, d) in enumerate(values)]
    columns = "n INT, q DECIMAL(38, 10), d DECIMAL(10, 2), k INT"
    frame = spark.createDataFrame([*rows, (9, None, None, 9)], columns)
    expressions = [
        ("q * {} > 1", ["5", "7", "50", "-5", "50000000000L", "1.5"]),
        ("try_multiply(q, {}) > 1", ["5", "50"]),
        ("{} - q > 1.5", ["1", "100000", "0.125"]),
        ("q / {} > 0.03", ["3", "300L", "0.7"]),
        ("d * {} > 1", ["5", "(50)", "0.0005"]),
        ("coalesce(q * {}, 0) = 1", ["5", "50"]),
        ("coalesce(d, {}) > 0.1", ["1", "10000000000", "1.2345BD"]),
        ("CASE WHEN k > 1 THEN q ELSE {} END < 10", ["1", "12.345"]),
        ("round(d, {}) = 12.4", ["1", "-1"]),
        ("floor(q, {}) = 0.1", ["0", "1"]),
        ("abs(q * {} - 1) < 0.001", ["5", "7"]),
    ]
    texts = [form.format(one) for form, values in expressions for one in values]
    found, refused = match_texts(frame, texts)
    assert refused == {}
    assert found == match_with_spark(frame, {text: text for text in texts}, "n")


@pytest.mark.parametrize("max_attributes", [4], indirect=True)
def test_conditions_on_expressions_beyond_the_limit_are_late(
    spark: SparkSession, events: DataFrame, max_attributes: int
) -> None:
    from covey.spark import Matcher

    texts = {i: f"length(sym) + {i} > 3" for i in range(40)} | {100: "price > 5"}
    frame = spark.createDataFrame(list(texts.items()), "id INT, predicate STRING")
    model = Matcher(eventSchema=events.schema, eventCols=["n"]).fit(frame.repartition(8))
    more = {200: "length(sym) * 2 > 3", 201: "price > 6"}
    changes = spark.createDataFrame(list(more.items()), frame.schema)
    updated = model.update(changes)
    for matched, accepted in ((model, texts), (updated, texts | more)):
        assert matched.rejectedSubscriptions.count() == 0
        found = {(row["n"], row["id"]) for row in matched.transform(events).collect()}
        assert found == match_with_spark(events, accepted, "n")
        derived = matched._state.space.derived
        assert sum(not attribute.is_late for attribute in derived) == max_attributes


def test_errors_name_the_subscription_the_reason_and_an_event(
    spark: SparkSession, events: DataFrame
) -> None:
    from covey.spark import Matcher

    texts = {
        1: "price / qty > 5",
        2: "qty <> 0 AND price / qty > 5",
        3: "sym = 'x' OR price / qty > 5",
        4: "n = 0 AND CAST(sym AS INT) > price / qty",
        5: "price > 5",
        6: "CAST(sym AS INT) > 5 AND n = 1",
        7: "tags[0] = 'a' AND sym = 'nobody'",
        8: "n = 1 AND price / qty > 5 AND CAST(sym AS INT) > 1",
    }
    frame = spark.createDataFrame(list(texts.items()), "id INT, predicate STRING")
    model = Matcher(eventSchema=events.schema, eventCols=["n"]).fit(frame)
    errors = model.errors(events)
    assert errors.columns == ["id", "reason", "count", "event"]
    rows = errors.orderBy("id", "reason").collect()
    assert [(row["id"], row["event"]["n"], row["count"]) for row in rows] == [
        (1, 1, 1), (6, 1, 1), (8, 1, 1), (8, 1, 1),
    ]  # fmt: skip
    division, cast, *both = [row["reason"] for row in rows]
    assert "Division by zero" in division
    assert "price / qty" in division
    assert "'x'" in cast
    assert "CAST" in cast
    assert set(both) == {division, cast}
    assert model.errors(events.where("qty <> 0 AND n > 1 AND n < 4")).collect() == []


def test_invalid_utf8_matches_like_in_spark(spark: SparkSession) -> None:
    from covey.spark import Matcher

    contents = ["61", "61ff", "ff", "c328", "c3a9", "e08080", "", "f4908080", "62", "80"]
    values = ", ".join(f"({n}, X'{one}')" for n, one in enumerate(contents))
    raw = spark.sql(f"SELECT n, CAST(b AS STRING) AS sym FROM VALUES {values} AS t(n, b)")
    events = raw.selectExpr("n", "sym", "array(sym, 'a') AS tags")
    texts = [
        "sym = 'a'", "sym > 'a'", "sym >= 'é'", "sym < 'b'", "sym <> 'a'", "sym LIKE 'a%'",
        "sym IN ('a', 'é')", "length(sym) = 1", "sym BETWEEN 'a' AND 'é'", "sym <= 'ÿ'",
        "array_contains(tags, 'é')", "sym IS NOT NULL", "sym > '\U0010ffff'",
    ]  # fmt: skip
    ids = dict(enumerate(texts))
    rows = spark.createDataFrame(list(ids.items()), "id INT, predicate STRING")
    garbled = spark.sql("SELECT 100 AS id, CAST(X'6e203e20ff' AS STRING) AS predicate")
    model = Matcher(eventSchema=events.schema).fit(rows.union(garbled))
    assert [(r["id"], r["error"]) for r in model.rejectedSubscriptions.collect()] == [
        (100, "the predicate is not valid UTF-8")
    ]
    pairs = {
        (row["n"], ids[row["id"]]) for row in model.transform(events).select("n", "id").collect()
    }
    assert pairs == match_with_spark(events, {text: text for text in texts}, "n")


def test_unknown_change_types_are_rejected(spark: SparkSession, events: DataFrame) -> None:
    from covey.spark import Matcher

    frame = spark.createDataFrame([(1, "n = 1"), (2, "n = 2")], "id INT, predicate STRING")
    model = Matcher(eventSchema=events.schema, eventCols=["n"]).fit(frame)
    changes = [(1, "n = 3", "upsert"), (2, "n = 4", None), (3, "n = 5", "insert")]
    changed = spark.createDataFrame(changes, "id INT, predicate STRING, _change_type STRING")
    updated = model.update(changed)
    refused = {row["id"]: row["error"] for row in updated.rejectedSubscriptions.collect()}
    assert set(refused) == {1, 2}
    assert "insert, update_postimage, delete, update_preimage" in refused[1]
    pairs = {(row["n"], row["id"]) for row in updated.transform(events).collect()}
    assert pairs == {(1, 1), (2, 2), (5, 3)}


@pytest.fixture
def padded(spark: SparkSession, tmp_path: Path) -> Iterator[DataFrame]:
    """Yield a table of texts that only Spark can compare: of fixed length, and with a collation."""
    columns = "n INT, c CHAR(4), k STRING COLLATE UTF8_LCASE"
    spark.sql("DROP TABLE IF EXISTS padded")
    spark.sql(f"CREATE TABLE padded ({columns}) USING parquet LOCATION '{tmp_path}/padded'")
    spark.sql("INSERT INTO padded VALUES (1, 'ab', 'Ab'), (2, 'abc', 'aB'), (3, NULL, NULL)")
    yield spark.table("padded")
    spark.sql("DROP TABLE padded")


def test_padded_and_collated_texts_match_like_in_spark(
    spark: SparkSession, padded: DataFrame
) -> None:
    texts = [
        "c = 'ab'", "c <> 'ab'", "c IN ('ab', 'xy')", "c > 'ab'", "c >= 'ab'", "c = 'ab  '",
        "c LIKE 'ab%'", "c IS NULL", "length(c) = 4", "NOT (c = 'ab')", "c BETWEEN 'ab' AND 'ab'",
        "k = 'AB'", "k <> 'ab'", "k IN ('AB')", "k > 'aa'", "k LIKE 'a%'", "k IS NULL",
        "contains(k, 'B')", "'AB' = k", "k <=> 'AB'", "lower(k) = 'ab'",
    ]  # fmt: skip
    pairs, refused = match_texts(padded, texts)
    accepted = [text for text in texts if text not in refused]
    assert len(accepted) > len(texts) - 3, refused
    assert pairs == match_with_spark(padded, {text: text for text in accepted}, "n")
