"""Session settings that change the meaning of predicates are refused, or recorded and compared."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterator
from decimal import Decimal as D
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from covey import SessionSettings
from covey.errors import SchemaError
from covey.testing.spark_oracle import configure_session, match_with_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.integration

DATA = Path(__file__).parent.parent / "data"
OTHER_VALUES = {"true": "false", "false": "true", "TIMESTAMP_LTZ": "TIMESTAMP_NTZ"}


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    configure_session(spark, SessionSettings())
    before = set(spark.conf.getAll)
    yield spark
    for name in set(spark.conf.getAll) - before:
        spark.conf.unset(name)
    configure_session(spark, SessionSettings())


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
def test_a_session_that_parses_predicates_differently_is_refused(
    session: SparkSession, name: str
) -> None:
    from covey.spark.session_settings import REQUIRED_SETTINGS

    events = session.createDataFrame([(1, "a")], "n INT, sym STRING")
    subscriptions = session.createDataFrame([(1, "sym = 'a'")], "id INT, predicate STRING")
    model = matcher(events).fit(subscriptions)
    session.conf.set(name, OTHER_VALUES[REQUIRED_SETTINGS[name]])
    with pytest.raises(SchemaError, match=f"{name} is .*: set it to {REQUIRED_SETTINGS[name]}"):
        matcher(events).fit(subscriptions)
    with pytest.raises(SchemaError, match=name):
        model.transform(events)


@pytest.mark.connect
def test_settings_that_change_results_are_recorded_and_compared(
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
        assert pairs == match_with_spark(events, texts, "n")
        found.append(pairs)
    assert found[0] != found[1]
    session.conf.set(name, "true")
    with pytest.raises(SchemaError, match=f"{name} was false and is true"):
        model.transform(events)
    with pytest.raises(SchemaError, match=name):
        model.errors(events)


def test_each_setting_has_the_documented_default(session: SparkSession) -> None:
    from covey.spark.session_settings import RECORDED_SETTINGS, REQUIRED_SETTINGS

    known = {entry.key(): entry.defaultValueString() for entry in entries(session)}
    documented = REQUIRED_SETTINGS | RECORDED_SETTINGS
    assert {name: known.get(name, "").lower() for name in documented} == {
        name: usual.lower() for name, usual in documented.items()
    }


def entries(session: SparkSession) -> list:  # type: ignore[type-arg]
    """Return all settings of Spark SQL, including internal ones."""
    package = session._jvm.org.apache.spark.sql.internal  # type: ignore[union-attr]
    conf = getattr(getattr(package, "SQLConf$"), "MODULE$")
    return list(conf.getConfigEntries().toArray())


ROWS = [
    (
        1, 2, 3, 4, 1.5, 2.5, D("1.50"), D("12345678901234567890.1234"), "abc", b"ab", True,
        dt.date(2024, 3, 31), dt.datetime(2024, 3, 31, 12, 30), dt.datetime(2024, 1, 1),
        ["a", "b"], {"k": "v"}, (1, "x"), dt.timedelta(days=1),
    ),
    (None,) * 18,
    (
        -1, -2, -3, -4, math.nan, math.inf, D("-0.01"), D(0), "A%b ", b"", False,
        dt.date(1500, 1, 1), dt.datetime(1900, 1, 1), dt.datetime(1500, 1, 1),
        [], {}, (2, None), dt.timedelta(0),
    ),
    (
        5, 300, 70_000, 2**40, 0.0, -0.0, D("10.00"), D(1), "12", b"\xff", True,
        dt.date(2023, 10, 29), dt.datetime(2023, 10, 29, 1, 30),
        dt.datetime(2023, 10, 29, 2, 30), [None, "a"], {"a": "1", "b": None}, (None, "y"),
        dt.timedelta(seconds=5),
    ),
]  # fmt: skip
SCHEMA = (
    "b TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, p DECIMAL(10,2), q DECIMAL(38,4), "
    "t STRING, x BINARY, o BOOLEAN, day DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ, "
    "tags ARRAY<STRING>, m MAP<STRING,STRING>, st STRUCT<a: INT, c: STRING>, "
    "iv INTERVAL DAY TO SECOND"
)
AT_ONCE, TOGETHER = 60, 16
OF_OTHERS = re.compile(
    "ansi.enabled|session.timeZone"  # compared separately
    "|maxIterations|excludedRules|singlePassResolver"  # limits that make Spark refuse expressions
    "|pyspark.binaryAsBytes"  # affects only rows in Python, which covey does not use
)


class Search:
    """Computed results of expressions, with default and changed settings."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        frame = session.createDataFrame(ROWS, SCHEMA)
        # a local relation, computed by the driver
        self.frame = session.createDataFrame(frame.toArrow(), SCHEMA)
        lines = (DATA / "settings.sql").read_text(encoding="utf-8").splitlines()
        texts = [line for line in lines if not line.startswith("--")]
        self.computed: dict[str, list[str]] = {}
        for ansi in ("true", "false"):
            session.conf.set("spark.sql.ansi.enabled", ansi)
            self.computed[ansi] = [text for text in texts if self._results([text])]
        self.usual = self.results()

    def results(self) -> list[str | None]:
        """Return the results of all expressions, with ANSI mode on and off."""
        found = []
        for ansi, texts in self.computed.items():
            self.session.conf.set("spark.sql.ansi.enabled", ansi)
            parts = [texts[n : n + AT_ONCE] for n in range(0, len(texts), AT_ONCE)]
            found += [self._results(part) for part in parts]
        return found

    def _results(self, texts: list[str]) -> str | None:
        try:
            rows = self.frame.selectExpr(*texts)
            return f"{[field.dataType for field in rows.schema.fields]} {rows.collect()}"
        except Exception:  # an exception of Spark or Java
            return None

    def deciding(self, flips: list[tuple[str, str]]) -> set[str]:
        """Return the settings of `flips` that change a result."""
        for name, value in flips:
            self.session.conf.set(name, value)
        try:
            is_usual = self.results() == self.usual
        finally:
            for name, _ in flips:
                self.session.conf.unset(name)
        if is_usual:
            return set()
        if len(flips) == 1:
            return {flips[0][0]}
        middle = len(flips) // 2
        return self.deciding(flips[:middle]) | self.deciding(flips[middle:])


def other_values(session: SparkSession, name: str, usual: str) -> list[str]:
    """Return other values of a setting, if it has a few."""
    if OF_OTHERS.search(name) or not session.conf.isModifiable(name):
        return []
    if usual in ("true", "false"):
        return [OTHER_VALUES[usual]]
    try:
        session.conf.set(name, "no such value")
    except Exception as error:  # an exception of Java, of several classes
        documented = re.search(r"one of '([\w, .\-]+)", str(error))
        if documented:
            listed_values = (value.strip(" .") for value in documented[1].split(","))
            return [value for value in listed_values if value and value.upper() != usual.upper()]
        if "'boolean'" in str(error):
            return ["true", "false"]
        return [str(int(usual) + 1), "1", "0"] if re.fullmatch(r"-?\d+", usual) else []
    session.conf.unset(name)  # the setting accepts any text
    return []


@pytest.mark.nightly
def test_no_other_setting_changes_the_result_of_an_expression(session: SparkSession) -> None:
    """Each setting of Spark SQL is changed; those that change a result must be known."""
    from covey.spark.session_settings import RECORDED_SETTINGS, REQUIRED_SETTINGS

    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    search = Search(session)
    assert len(search.computed["true"]) > 400
    values = {
        entry.key(): other_values(session, entry.key(), entry.defaultValueString())
        for entry in entries(session)
    }
    assert sum(map(bool, values.values())) > 400
    deciding = set[str]()
    for position in range(max(map(len, values.values()))):
        flips = [(name, some[position]) for name, some in values.items() if position < len(some)]
        for n in range(0, len(flips), TOGETHER):
            part = [flip for flip in flips[n : n + TOGETHER] if can_be_set(session, *flip)]
            deciding |= search.deciding(part)
    assert deciding <= {*REQUIRED_SETTINGS, *RECORDED_SETTINGS}
    assert len(deciding) > 20


def can_be_set(session: SparkSession, name: str, value: str) -> bool:
    try:
        session.conf.set(name, value)
    except Exception:  # an exception of Java, of several classes
        return False
    session.conf.unset(name)
    return True
