"""Time zones without Spark: exact if Python and Java agree, otherwise refused."""

from __future__ import annotations

import datetime as dt
from struct import pack

import pyarrow as pa
import pytest

from covey import Parser, SessionSettings, Space
from covey.language.values import casts
from covey.space.time_zones import TimeZones, UncertainTimeError, ZoneRules, find_clock
from covey.store.manifest.space_json import space_from_json, space_to_json


def build_space(settings: SessionSettings) -> Space:
    return Space.from_types({"ts": pa.timestamp("us", "UTC")}, settings=settings)


def encode_rules(moment_s: int) -> bytes:
    """Return rules that change from one to two hours at a moment."""
    return b"\x01" + pack(">ibi", 0, 4, 1) + b"\xff" + pack(">qbbb", moment_s, 4, 8, 0)


@pytest.mark.parametrize(
    ("local_s", "offset_h"),
    [(10**9 + 3599, 1), (10**9 + 3600, 1), (10**9 + 7199, 1), (10**9 + 7200, 2)],
)
def test_a_local_time_in_a_gap_has_the_offset_before_it(local_s: int, offset_h: int) -> None:
    assert ZoneRules(encode_rules(10**9)).offset_of_local(local_s) == offset_h * 3600


def test_a_moment_has_the_new_offset_from_the_change_on() -> None:
    clock = ZoneRules(encode_rules(10**9))
    assert [clock.offset_at(10**9 + gap) for gap in (-1, 0)] == [3600, 7200]


@pytest.mark.parametrize(
    "text",
    [
        "ts > TIMESTAMP '1965-06-01 12:00:00'",
        "ts > '1979-12-31'",
        "ts > TIMESTAMP '2024-06-01 12:00:00 posix/Europe/Berlin'",
        "ts > TIMESTAMP '2024-06-01 12:00:00 SystemV/PST8'",
        "ts > TIMESTAMP '1965-06-01 12:00:00 America/New_York'",
        "ts > TIMESTAMP '2024-06-01 12:00:00 America/Coyhaique'",
        "ts > TIMESTAMP_NTZ '1965-06-01 12:00:00'",
        "ts > DATE '1965-06-01'",
    ],
)
def test_times_that_java_may_read_differently_are_refused_without_spark(text: str) -> None:
    rejected = Parser(build_space(SessionSettings("Europe/Oslo"))).parse([text]).rejected
    assert "without Spark" in str(rejected[0])


@pytest.mark.parametrize("zone", ["WET", "EST", "PST8PDT", "posix/Europe/Berlin"])
def test_uncertain_session_zones_are_refused_without_spark(zone: str) -> None:
    with pytest.raises(UncertainTimeError, match="without Spark"):
        find_clock(zone, None)


def test_offsets_of_distant_years_repeat_every_400_years() -> None:
    clock = find_clock("Europe/Oslo", None)
    for year in (2024, 2424, 8824):
        days = dt.date(year, 7, 1).toordinal() - dt.date(1970, 1, 1).toordinal()
        assert clock.offset_at(days * 86_400) == clock.offset_of_local(days * 86_400) == 7200


def test_zone_rules_of_the_session_have_precedence() -> None:
    settings = SessionSettings("Europe/Oslo", zone_rules=encode_rules(10**9))
    texts = ("1965-06-01 12:00:00", "1965-06-01 11:00:00Z", "2024-06-01 12:00:00")
    first, same, last = (casts.to_timestamp(text, settings) for text in texts)
    assert first == same
    assert last == casts.to_timestamp("2024-06-01 10:00:00Z", settings)


def test_zone_rules_are_saved_with_a_space_and_compared() -> None:
    space = build_space(SessionSettings("Europe/Oslo", zone_rules=encode_rules(10**9)))
    again = space_from_json(space_to_json(space))
    assert again == space
    assert again.settings.agrees_with(SessionSettings("Europe/Oslo"))
    other = SessionSettings("Europe/Oslo", zone_rules=encode_rules(10**9 + 1))
    assert not again.settings.agrees_with(other)


def test_a_file_that_is_no_database_is_refused() -> None:
    with pytest.raises(ValueError, match="not a time zone database"):
        TimeZones(b"\x02\x00\x04TZDB").find_rules("UTC")
