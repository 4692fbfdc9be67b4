"""Invalid parameters of `Matcher` raise an error of covey that names the parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import StructType

from covey.errors import CoveyError, InvalidArgumentError
from covey.space import PredicateLimits
from covey.spark import Matcher, MatcherModel, match, reduce_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WRONG: dict[str, list[object]] = {
    "eventSchema": [5, [1], "{", "{}", '{"type": "struct"}', "{" * 100_000],
    "idCol": [5, ["id"], {}, "\ud800"],
    "rangeCols": [5, "x", {"n": "ab"}, {"n": (1, 2)}, {"n": ("a",)}],
    "outputMode": [5, "rows", [], ["pairs"]],
    "eventCols": ["n", 5, [1], {}],
    "vectors": [5, "x", [], {"v": "3"}, {"v": 0}, {"v": 2.0}, {"v": True}, {"v": 2**70}],
    "limits": [5, "x", {"depth": 3}, {"functions": 5}, {"functions": None}, {"max_depth": "9"}],
    "zones": ["²", 0, -1, 2.5, True, "many", "9" * 5_000, [2]],
    "replication": ["both", 5, {}],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_a_wrong_value_is_refused_when_it_is_set(name: str, value: object) -> None:
    with pytest.raises(InvalidArgumentError, match=name) as caught:
        Matcher(**{name: value})  # type: ignore[arg-type]
    assert len(str(caught.value)) < 500
    with pytest.raises(InvalidArgumentError, match=name):
        Matcher().setParams(**{name: value})


RIGHT: dict[str, tuple[object, object]] = {
    "eventSchema": (StructType().add("n", "integer"), StructType().add("n", "integer")),
    "idCol": ("key", "key"),
    "predicateCol": ("text", "text"),
    "rangeCols": ({"n": ("low", "high")}, {"n": ["low", "high"]}),
    "outputMode": ("arrays", "arrays"),
    "eventCols": (("n",), ["n"]),
    "outputCol": ("alerts", "alerts"),
    "handleInvalid": ("error", "error"),
    "vectors": ({"v": 3}, {"v": 3}),
    "limits": ({"max_depth": 9}, PredicateLimits(max_depth=9)),
    "validFromCol": ("start", "start"),
    "validToCol": ("end", "end"),
    "eventTimeCol": ("time", "time"),
    "zones": (4, "4"),
    "replication": ("smart", "smart"),
    "storePath": ("/data", "/data"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_value_is_read_as_it_was_set(name: str) -> None:
    value, stored = RIGHT[name]
    suffix = name[0].upper() + name[1:]
    matcher = Matcher()
    assert getattr(matcher, f"set{suffix}")(value) is matcher
    for one in (matcher, Matcher(**{name: value}), Matcher().setParams(**{name: value})):
        assert getattr(one, f"get{suffix}")() == stored
    assert set(RIGHT) == {param.name for param in Matcher().params}


@pytest.mark.integration
@pytest.mark.connect
def test_a_schema_may_be_a_ddl_text(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1, "a"), (2, "b")], "n INT, `to day` STRING")
    alerts = spark.createDataFrame([(7, "n > 1 AND `to day` = 'b'")], "id INT, predicate STRING")
    matcher = Matcher(eventSchema="n INT, `to day` STRING")
    assert matcher.getEventSchema() == events.schema
    assert [tuple(row) for row in matcher.fit(alerts).transform(events).collect()] == [(2, "b", 7)]
    for text in ("INT", "n WHAT", "n INT, "):
        with pytest.raises(InvalidArgumentError, match="such as 'symbol STRING, price DOUBLE'"):
            Matcher(eventSchema=text)


@pytest.mark.integration
def test_arguments_that_are_no_dataframe_are_named(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1,)], "n INT")
    alerts = spark.createDataFrame([(7, "n > 0")], "id INT, predicate STRING")
    matcher: Any = Matcher(eventSchema=events.schema)
    model: Any = matcher.fit(alerts)
    for wrong in (None, 5, [1], "alerts", spark):
        for call in (
            matcher.fit,
            model.transform,
            model.update,
            model.errors,
            lambda table: match(events, table),
            lambda table: reduce_subscriptions(table, eventSchema=events.schema),
        ):
            with pytest.raises(CoveyError, match="must be of type DataFrame"):
                call(wrong)
    for path in (None, 5, "http://[x", "/nowhere"):
        with pytest.raises(CoveyError):
            MatcherModel.load(path)  # type: ignore[arg-type]
