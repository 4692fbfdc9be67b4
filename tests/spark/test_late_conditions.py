"""Late conditions on Spark: the same matches as `where`, in every way of matching."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from covey.errors import InvalidArgumentError, SchemaError
from covey.testing.spark_oracle import match_with_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from covey.spark import MatcherModel

pytestmark = pytest.mark.integration

NAMES = ["ana", "Anna", "bob", "rome", "Oslo", None, "it's", "a\\b"]
PRICES = [None, 1.5, 10.0, 100.0, 0.0, -3.0]
TEXTS = [
    *(f"levenshtein(name, '{n}') < {k}" for n in ("ana", "bobo", "it''s") for k in (1, 3)),
    *(f"price / qty > {k}" for k in (0.5, 1, "2.5D", -1)),
    "NOT (price / qty > 0.5) AND qty < 3",
    *(f"name RLIKE '{pattern}'" for pattern in ("^a", "o+", "^.{3}$")),
    *(f"qty = 2 OR length(name) > {k}" for k in (2, 4)),
    "length(name) > 2 AND levenshtein(name, 'ana') < 3 AND price > 1",
    "(qty = 1 AND length(name) > 2) OR (qty < 3 AND length(name) > 3)",  # both may hold
    "price > 5",
    "name LIKE '%n%' AND price < 3",
    "substr(name, 1, 1) = 'a'",
    "element_at(attrs, 'k') = 'x'",
    "size(tags) = 2 AND tags[0] = 'b'",
    "qty <> 0 AND price / qty > 5",
    "round(price, 1) = 1.5",
    "d * 3 > 4.5",
    "c = 'x' AND length(c) > 0",
    "covey_variable = 1 AND length(name) > covey_variable",
    "length(owner) > 3 AND price > 1",
    *(f"length(name) + {k} IN ({k + 3}, qty)" for k in (0, 1)),
    *(f"length(name) * -2 IN (-8, {k})" for k in (-6, 4)),
    *(f"concat(name, '{c}') IN ('{c}', 'bob{c}', 'it''s{c}')" for c in "xy"),
    "name LIKE 'a\\nb%' OR concat(name, '\n') = 'bob\n'",
    "concat(name, '`c`') = 'bob`c`'",
    "exists(tags, t -> concat(t, name) = 'aana')",
    "(length(name) > 2) <=> true",
    "date_add(DATE '2024-02-28', qty) = DATE '2024-03-01'",
    "NOT (length(name) > 2 OR price / qty > 5) OR qty = 5",
]


@pytest.fixture(autouse=True)
def _late_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every condition on an expression late."""
    monkeypatch.setattr("covey.spark.fitting.expression_analysis.MAX_ATTRIBUTES", 0)


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    from decimal import Decimal

    rows = [
        (
            i, NAMES[i % 8], PRICES[i % 6], [0, 1, 2, 5, None][i % 5],
            [["a"], ["b", "a"], None, [None]][i % 4], {"k": "xy"[i % 2]}, Decimal(i % 7) / 2,
            "xz"[i % 2], i % 3, ["ann", "boris"][i % 2],
        )
        for i in range(200)
    ]  # fmt: skip
    schema = (
        "id INT, name STRING, price DOUBLE, qty INT, tags ARRAY<STRING>, "
        "attrs MAP<STRING, STRING>, d DECIMAL(10, 2), c STRING, covey_variable INT, owner STRING"
    )
    return spark.createDataFrame(rows, schema)


def fit(events: DataFrame, texts: dict[int, str], **params: Any) -> MatcherModel:
    from covey.spark import Matcher

    alerts = events.sparkSession.createDataFrame(list(texts.items()), "sid INT, predicate STRING")
    model = Matcher(eventSchema=events.schema, idCol="sid", handleInvalid="error", **params).fit(
        alerts
    )
    assert [a.name for a in model._state.space.derived if not a.is_late] == []
    return model


def find_pairs(model: MatcherModel, events: DataFrame) -> list[tuple[int, int]]:
    return [(row["id"], row[-1]) for row in model.transform(events).collect()]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"eventCols": ["id"], "outputCol": "owner"},
        {"zones": 3},
        {"zones": 3, "replication": "smart", "eventCols": ["id"], "outputCol": "owner"},
    ],
    ids=str,
)
def test_pairs_are_those_that_where_finds(events: DataFrame, params: dict[str, Any]) -> None:
    texts = dict(enumerate(TEXTS))
    found = find_pairs(fit(events, texts, **params), events)
    assert len(found) == len(set(found))
    assert set(found) == match_with_spark(events, texts, "id")


@pytest.mark.connect
def test_arrays_contain_each_match_once(events: DataFrame) -> None:
    texts = dict(enumerate(TEXTS))
    rows = fit(events, texts, outputMode="arrays", eventCols=["id"]).transform(events).collect()
    assert len(rows) == 200
    found = [(row["id"], sid) for row in rows for sid in row[-1]]
    assert len(found) == len(set(found))
    assert set(found) == match_with_spark(events, texts, "id")


def test_columns_of_events_are_unchanged(events: DataFrame) -> None:
    out = fit(events, {1: "length(name) = 3"}, eventCols=["price", "name"]).transform(events)
    assert out.columns == ["price", "name", "sid"]
    assert {row["name"] for row in out.collect()} == {"ana", "bob", "a\\b"}


@pytest.mark.parametrize("mode", ["pairs", "arrays"])
def test_subscriptions_with_one_late_condition_each(events: DataFrame, mode: str) -> None:
    texts = {1: "length(name) > 3", 2: "qty = 2 OR length(name) > 2", 3: "price > 5",
             4: "qty < 2 AND levenshtein(name, 'ana') < 3", 5: "price / qty > 1"}  # fmt: skip
    model = fit(events, texts, outputMode=mode, eventCols=["id"])
    assert not model._state.has_several_conditions
    rows = model.transform(events).collect()
    found = [(r["id"], sid) for r in rows for sid in (r[-1] if mode == "arrays" else [r[-1]])]
    assert len(found) == len(set(found))
    assert set(found) == match_with_spark(events, texts, "id")
    change = {4: "length(name) > 2 AND levenshtein(name, 'ana') < 3"}
    alerts = events.sparkSession.createDataFrame([*change.items()], "sid INT, predicate STRING")
    updated = model.update(alerts)
    assert updated._state.has_several_conditions
    rows = updated.transform(events).collect()
    found = [(r["id"], sid) for r in rows for sid in (r[-1] if mode == "arrays" else [r[-1]])]
    assert len(found) == len(set(found))
    assert set(found) == match_with_spark(events, texts | change, "id")


@pytest.mark.connect
def test_updated_and_loaded_models_keep_their_conditions(events: DataFrame, tmp_path: Path) -> None:
    from covey.spark import MatcherModel

    texts = dict(enumerate(TEXTS))
    changes = {3: "length(name) > 3 AND price > 0", 77: "levenshtein(name, 'rom') < 2"}
    alerts = events.sparkSession.createDataFrame(
        [*changes.items(), (0, None)], "sid INT, predicate STRING"
    )
    updated = fit(events, texts).update(alerts)
    updated.write().save(str(tmp_path / "model"))
    expected = {id_: text for id_, text in (texts | changes).items() if id_ != 0}
    for model in (updated, MatcherModel.load(str(tmp_path / "model"))):
        assert set(find_pairs(model, events)) == match_with_spark(events, expected, "id")


@pytest.mark.connect
def test_errors_name_the_subscription_the_reason_and_an_event(events: DataFrame) -> None:
    texts = {
        1: "price / qty > 5", 2: "qty <> 0 AND price / qty > 5", 3: "price > 5",
        4: "price / qty > 1 AND length(name) > 100", 5: "qty = 0 OR price / qty > 5",
    }  # fmt: skip
    errors = fit(events, texts, eventCols=["id", "qty"]).errors(events).collect()
    assert [row["sid"] for row in errors] == [1]
    (error,) = errors
    assert error["reason"].startswith("Spark: Division by zero")
    assert error["reason"].endswith("In (price / qty) > ?")
    assert error["event"]["qty"] == 0
    assert error["count"] == events.where("qty = 0 AND price IS NOT NULL").count()


def test_a_table_function_is_refused_with_advice(events: DataFrame) -> None:
    model = fit(events, {1: "length(name) = 3"})
    with pytest.raises(InvalidArgumentError, match="use transform"):
        model.registerTableFunction("find_late")


def test_many_texts_share_few_templates(events: DataFrame) -> None:
    texts = {i: f"length(name) > {i % 5} AND levenshtein(name, 'n{i}') < 3" for i in range(300)}
    model = fit(events, texts)
    assert len(model._state.space.derived) == 2
    assert set(find_pairs(model, events)) == match_with_spark(events, texts, "id")


@pytest.mark.connect
def test_what_cannot_be_computed_for_candidates_is_an_attribute(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from covey.spark import Matcher

    spark.udf.register("shout", lambda text: text.upper(), "string")
    events = spark.sql(
        "SELECT id, concat('n', id) AS name, make_interval(0, id) AS period FROM range(10)"
    )
    texts = {
        1: "shout(name) = 'N3'",
        2: "length(name) = 2 AND id > 4 AND shout(name) = 'N7'",
        3: "CAST(period AS STRING) = '4 months'",
    }
    alerts = spark.createDataFrame(list(texts.items()), "sid INT, predicate STRING")
    matcher = Matcher(
        eventSchema=events.schema, idCol="sid", eventCols=["id"], limits={"functions": ["shout"]}
    )
    refusals = matcher.fit(alerts).rejectedSubscriptions
    rejected = {row["sid"]: row["error"] for row in refusals.collect()}
    assert set(rejected) == {1, 2, 3}
    assert "only once for all events" in rejected[3]
    monkeypatch.setattr("covey.spark.fitting.expression_analysis.MAX_ATTRIBUTES", 2)
    model = matcher.fit(alerts)
    assert [a.name for a in model._state.space.derived if a.is_late] == ["length(name) = \0i"]
    assert set(find_pairs(model, events)) == {(3, 1), (7, 2), (4, 3)}


@pytest.mark.connect
def test_patterns_are_constants_unless_there_are_many(
    events: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def list_templates(model: MatcherModel) -> list[str]:
        return sorted(a.name for a in model._state.space.derived)

    monkeypatch.setattr("covey.spark.fitting.expression_analysis._MAX_CONSTANT_PATTERNS", 3)
    texts = {i: f"name RLIKE r'^{letter}\\w'" for i, letter in enumerate("ab")}
    texts[2] = "concat(name, 'x') LIKE 'b%x'"
    model = fit(events, texts)
    assert len(list_templates(model)) == 3
    more = {i: f"name RLIKE '^{letter}'" for i, letter in enumerate("Aronm", start=10)}
    alerts = events.sparkSession.createDataFrame(list(more.items()), "sid INT, predicate STRING")
    updated = model.update(alerts)
    added = {*list_templates(updated)} - {*list_templates(model)}
    assert added == {"name RLIKE \0s"}
    assert set(find_pairs(updated, events)) == match_with_spark(events, texts | more, "id")
    last = {20: "name RLIKE '^R'"}
    alerts = events.sparkSession.createDataFrame(list(last.items()), "sid INT, predicate STRING")
    assert list_templates(updated.update(alerts)) == list_templates(updated)


@pytest.mark.connect
def test_an_update_keeps_that_an_expression_is_never_late(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from covey.spark import Matcher

    monkeypatch.setattr("covey.spark.fitting.expression_analysis.MAX_ATTRIBUTES", 1)
    spark.udf.register("shout", lambda text: text.upper(), "string")
    events = spark.sql("SELECT id, concat('n', id) AS name FROM range(10)")
    matcher = Matcher(eventSchema=events.schema, idCol="sid", limits={"functions": ["shout"]})
    texts = [(1, "shout(name || 'x') = concat(upper(name), 'X')"), (2, "id = 4")]
    model = matcher.fit(spark.createDataFrame(texts, "sid INT, predicate STRING"))
    more = [(3, "shout(name || 'y') = concat(upper(name), 'Y')")]
    updated = model.update(spark.createDataFrame(more, "sid INT, predicate STRING"))
    assert [row["sid"] for row in updated.rejectedSubscriptions.collect()] == [3]
    assert set(find_pairs(updated, events)) == {(4, 2), *((i, 1) for i in range(10))}


def test_decimals_and_doubles_in_one_place_are_computed_apart(events: DataFrame) -> None:
    texts = {1: "qty * 0.1D = 0.5D", 2: "qty * 0.1D = 0.2"}
    changes = {3: "qty * 0.1 = 0.2", 4: "qty * 0.1 = 0.5", 5: "price * 0.1 = 0.15"}
    alerts = events.sparkSession.createDataFrame(list(changes.items()), "sid INT, predicate STRING")
    updated = fit(events, texts).update(alerts)
    assert set(find_pairs(updated, events)) == match_with_spark(events, texts | changes, "id")


def test_many_long_parameters_are_sent_in_small_batches(events: DataFrame) -> None:
    values = ", ".join(f"'{chr(97 + i % 26) * 240}{i}'" for i in range(30))
    texts = {
        1: f"concat(name, '') NOT IN ({values})",
        2: f"concat(name, 'x') IN ({values}, 'anax')",
    }
    found = set(find_pairs(fit(events, texts), events))
    assert found == match_with_spark(events, texts, "id")


def test_reserved_and_missing_columns_are_named(events: DataFrame) -> None:
    model = fit(events, {1: "length(name) = 3"})
    for name in ("covey.ids", "Covey.Conditions"):
        with pytest.raises(InvalidArgumentError, match=f"covey uses the name '{re.escape(name)}'"):
            model.transform(events.withColumn(name, events["id"]))
    with pytest.raises(SchemaError, match="the events have no column 'name'"):
        model.transform(events.drop("name"))
