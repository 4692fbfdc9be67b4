"""Times in literals are the same moments as in Spark, in every time zone of Java."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from covey import SessionSettings, Space
from covey.errors import SchemaError
from covey.language.values import casts
from covey.language.values.literals import LiteralError
from covey.space.time_zones import ZoneRules
from covey.testing.spark_oracle import configure_session, match_with_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.integration, pytest.mark.connect]

_DAY_S = 86_400


@pytest.fixture(autouse=True)
def usual_session(spark: SparkSession) -> Iterator[None]:
    configure_session(spark, SessionSettings())
    yield
    configure_session(spark, SessionSettings())


def test_every_zone_of_java_has_the_offsets_of_spark(spark: SparkSession) -> None:
    from covey.spark.java_time_zones import read_time_zones

    zones = read_time_zones(spark)
    assert zones is not None
    assert len(zones.names) > 500
    rng = random.Random(1)
    rows: list[tuple[str, int]] = []
    clocks = {}
    for name in zones.names:
        rules = zones.find_rules(name)
        assert rules is not None
        clock = clocks[name] = ZoneRules(rules)
        changes = clock._moments
        sampled_changes = rng.sample(changes, min(40, len(changes)))
        nearby_times = [
            at + gap
            for at in sampled_changes
            for gap in (-_DAY_S, -3600, -1, 0, 1, 1800, 3600, _DAY_S)
        ]
        times = [
            *nearby_times,
            *changes[:60],
            *(rng.randrange(-5 * 10**9, 2 * 10**10) for _ in range(60)),
        ]
        times += [-62_135_596_800, 253_402_300_799, 10**11]
        rows += [(name, time) for time in times]
    columns = {"zone": [zone for zone, _ in rows], "s": [time for _, time in rows]}
    frame = spark.createDataFrame(pa.table(columns)).selectExpr(
        "zone", "s",
        "unix_seconds(from_utc_timestamp(timestamp_seconds(s), zone)) - s AS at",
        "s - unix_seconds(to_utc_timestamp(timestamp_seconds(s), zone)) AS of_local",
    )  # fmt: skip
    theirs = frame.toArrow()
    for name, s, *offsets in zip(*(theirs.column(i).to_pylist() for i in range(4)), strict=True):
        assert [clocks[name].offset_at(s), clocks[name].offset_of_local(s)] == offsets, (name, s)


ZONE_TEXTS = [
    "Europe/Oslo", "posix/Europe/Berlin", "right/Europe/Berlin", "SystemV/PST8",
    "SystemV/EST5EDT", "US/Pacific", "europe/oslo", "Europe/oslo", "America/Coyhaique",
    "Asia/Calcutta", "Etc/GMT+8", "Etc/GMT-14", "UTC+1", "UTC+01:00", "GMT+8", "UT-3:30", "+8",
    "-08", "+08:00", "+8:30", "+08:3", "+8:3", "+08:3:20", "+8:30:20", "+08:30:20", "+0830",
    "+083020", "+830", "+18:00", "+18:01", "-18:00", "+19", "+08:60", "Z", "UTC", "GMT", "UT",
    "Nowhere/Land", "Europe/", "/Oslo", "Etc/UTC", "Etc/Zulu", "+00:00", "-00:30", "GMT+0:5",
    "Africa/Monrovia", "Africa/Casablanca", "Europe/Dublin", "Asia/Tehran", "Pacific/Apia",
    "America/Argentina/Ushuaia",
]  # fmt: skip


def test_zone_names_in_texts_are_those_of_spark(spark: SparkSession) -> None:
    from covey.spark.session_settings import read_session_settings

    years = ("1883-01", "1965-06", "2024-07", "2500-07")
    times = [f"{year}-01 12:00:00" for year in years]
    texts = [f"{time} {zone}" for zone in ZONE_TEXTS for time in times]
    frame = spark.createDataFrame([(text,) for text in texts], "t STRING")
    read = frame.selectExpr(
        "unix_micros(TRY_CAST(t AS TIMESTAMP))", "TRY_CAST(t AS TIMESTAMP_NTZ) IS NOT NULL"
    ).toArrow()
    settings, refused = read_session_settings(spark), set()
    moments, are_local = (read.column(i).to_pylist() for i in (0, 1))
    for text, moment, is_local in zip(texts, moments, are_local, strict=True):
        try:
            assert casts.to_timestamp(text, settings) == moment, text
            assert (casts.to_timestamp_ntz(text, settings) is not None) == is_local, text
        except LiteralError:
            refused.add(text.rpartition(" ")[2])
    assert refused == {"+08:3:20", "+830"}


SESSION_ZONES = ["Europe/Oslo", "America/Havana", "Pacific/Apia", "Africa/Monrovia", "WET"]
LOCAL_TIMES = [
    "1883-11-18 12:03:58", "1965-06-01 12:00:00", "1995-03-26 01:30:00", "1995-10-29 01:30:00",
    "2011-12-30 12:00:00", "2024-03-10 00:30:00", "2024-11-03 00:30:00", "2024-03-31 02:30:00",
    "2024-10-27 02:30:00", "1972-01-07 00:20:00", "2150-10-25 02:30:00", "1995-06-01 00:00:00",
]  # fmt: skip


@pytest.mark.parametrize("zone", SESSION_ZONES)
def test_time_literals_match_like_in_spark_in_the_session_time_zone(
    spark: SparkSession, zone: str
) -> None:
    from covey.spark import Matcher

    configure_session(spark, SessionSettings())
    spark.conf.set("spark.sql.session.timeZone", zone)
    moments = [
        f"TIMESTAMP '{time} {other}' + MAKE_DT_INTERVAL(0, 0, 0, {gap})"
        for time in LOCAL_TIMES
        for other in (zone if "/" in zone else "+00:00", "+01:00")
        for gap in ("-1", "0", "1", "3600")
    ]
    selects = ", ".join(f"({n}, {moment})" for n, moment in enumerate(moments))
    frame = spark.sql(
        f"SELECT n, ts, CAST(ts AS TIMESTAMP_NTZ) AS l, CAST(ts AS DATE) AS day "
        f"FROM VALUES {selects} AS t(n, ts)"
    ).localCheckpoint()
    texts = [
        form.format(time)
        for time in LOCAL_TIMES
        for form in ("ts > TIMESTAMP '{}'", "ts = TIMESTAMP_NTZ '{}'", "day < TIMESTAMP '{}'",
                     "l >= TIMESTAMP '{}'")
    ]  # fmt: skip
    texts += ["ts < TIMESTAMP '1965-06-01 12:00:00 Europe/Oslo'", "ts >= DATE '2011-12-30'"]
    ids = dict(enumerate(texts))
    rows = spark.createDataFrame(list(ids.items()), "id INT, predicate STRING")
    model = Matcher(eventSchema=frame.schema, eventCols=["n"]).fit(rows)
    assert model.rejectedSubscriptions.collect() == []
    pairs = {(row["n"], row["id"]) for row in model.transform(frame).collect()}
    assert pairs == match_with_spark(frame, ids, "n")


def test_a_changed_rule_of_the_session_time_zone_is_reported(spark: SparkSession) -> None:
    from covey.spark.session_settings import check_session_settings, read_session_settings

    spark.conf.set("spark.sql.session.timeZone", "Europe/Oslo")
    settings = read_session_settings(spark)
    space = Space.from_types({"n": pa.int32()}, settings=settings)
    check_session_settings(space, spark)
    other = settings.named_zones and settings.named_zones.find_rules("Europe/Rome")
    with pytest.raises(SchemaError, match="other rules for time zone Europe/Oslo"):
        check_session_settings(replace(space, settings=replace(settings, zone_rules=other)), spark)
