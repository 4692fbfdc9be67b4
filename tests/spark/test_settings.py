"""Settings of a session that change what predicates mean: refused, or kept and compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from covey import Settings
from covey.errors import SpaceError
from covey.testing.oracle import set_session, spark_matches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.integration

OTHER_VALUES = {"true": "false", "false": "true", "TIMESTAMP_LTZ": "TIMESTAMP_NTZ"}


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    set_session(spark, Settings())
    before = set(spark.conf.getAll)
    yield spark
    for name in set(spark.conf.getAll) - before:
        spark.conf.unset(name)
    set_session(spark, Settings())


def matcher(events: DataFrame):  # type: ignore[no-untyped-def]
    from covey.spark import Matcher

    return Matcher(eventSchema=events.schema, eventCols=["n"])


@pytest.mark.connect
@pytest.mark.parametrize(
    "name",
    [
        "spark.sql.parser.escapedStringLiterals",
        "spark.sql.ansi.doubleQuotedIdentifiers",
        "spark.sql.timestampType",
        "spark.sql.caseSensitive",
    ],
)
def test_a_session_that_reads_predicates_in_another_way_is_refused(
    session: SparkSession, name: str
) -> None:
    from covey.spark.settings import FIXED

    events = session.createDataFrame([(1, "a")], "n INT, sym STRING")
    subscriptions = session.createDataFrame([(1, "sym = 'a'")], "id INT, predicate STRING")
    model = matcher(events).fit(subscriptions)
    session.conf.set(name, OTHER_VALUES[FIXED[name]])
    with pytest.raises(SpaceError, match=f"{name} is .*: set it to {FIXED[name]}"):
        matcher(events).fit(subscriptions)
    with pytest.raises(SpaceError, match=name):
        model.transform(events)


@pytest.mark.connect
def test_settings_that_change_what_spark_computes_are_kept_and_compared(
    session: SparkSession,
) -> None:
    name, ansi = "spark.sql.legacy.sizeOfNull", "spark.sql.ansi.enabled"
    session.conf.set(ansi, "false")
    events = session.createDataFrame([(1, ["a"]), (2, None)], "n INT, tags ARRAY<STRING>")
    texts = {1: "size(tags) = -1", 2: "size(tags) IS NULL"}
    subscriptions = session.createDataFrame(list(texts.items()), "id INT, predicate STRING")
    found = []
    for value in ("true", "false"):
        session.conf.set(name, value)
        model = matcher(events).fit(subscriptions)
        pairs = {(row["n"], row["id"]) for row in model.transform(events).collect()}
        assert pairs == spark_matches(events, texts, "n")
        found.append(pairs)
    assert found[0] != found[1]
    session.conf.set(name, "true")
    with pytest.raises(SpaceError, match=f"{name} was false and is true"):
        model.transform(events)
    with pytest.raises(SpaceError, match=name):
        model.errors(events)


def test_each_setting_has_the_default_that_is_said(session: SparkSession) -> None:
    from covey.spark.settings import FIXED, KEPT

    known = {entry.key(): entry.defaultValueString() for entry in entries(session)}
    said = FIXED | KEPT
    assert {name: known.get(name, "").lower() for name in said} == {
        name: usual.lower() for name, usual in said.items()
    }


def entries(session: SparkSession) -> list:  # type: ignore[type-arg]
    """All settings of Spark's SQL, those that it does not tell users of too."""
    package = session._jvm.org.apache.spark.sql.internal  # type: ignore[union-attr]
    conf = getattr(getattr(package, "SQLConf$"), "MODULE$")
    return list(conf.getConfigEntries().toArray())
