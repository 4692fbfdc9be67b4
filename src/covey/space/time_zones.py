"""Time zones: conversion between UTC and local time with the rules that Spark uses.

Spark uses the time zone database of Java, which differs from Python's: mostly for times before
1970, but also between releases, and in the names of zones. The space of a Spark session therefore
contains Java's rules (`TimeZones`). A space that was built without Spark uses Python's database,
but only for zones and times on which both databases agree; for other zones and times, an error is
raised.

Cost: a microsecond for a conversion, and a millisecond for the first conversion in a zone.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from struct import Struct
from typing import Protocol
from zoneinfo import ZoneInfo

__all__ = [
    "UTC_NAMES",
    "Clock",
    "TimeZones",
    "UncertainTimeError",
    "ZoneRules",
    "find_clock",
    "is_system_zone",
]

UTC_NAMES = ("UTC", "GMT", "UT", "Z", "Etc/UTC", "Etc/GMT")
"""Names of UTC that Java and Python share."""

_DAY_S = 86_400
_CYCLE_DAYS = 400 * 365 + 97  # days after which the calendar and its weekdays repeat
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()


class UncertainTimeError(ValueError):
    """Raised if Spark's rules are not available and Python's may differ from them."""


class Clock(Protocol):
    """Clock of a time zone. Its offset is the number of seconds that it is ahead of UTC."""

    def offset_at(self, moment_s: int) -> int:
        """Return the offset at a moment, given in seconds since 1970 in UTC."""
        ...

    def offset_of_local(self, local_s: int) -> int:
        """Return the offset at a local time, given in seconds since 1970 on the zone's clock.

        For a time that the clock shows twice or skips, because the offset changes, return the
        offset before the change.
        """
        ...


class ZoneRules:
    """Clock of one zone with Java's rules, read from its serialized `java.time.zone.ZoneRules`.

    Yearly rules without an end are expanded for the 400 years after which the calendar repeats.

    >>> ZoneRules(bytes.fromhex("01 00000000 04 00000000 04 00")).offset_at(0)
    3600
    """

    def __init__(self, content: bytes) -> None:
        reader = _Reader(content)
        reader.read(_BYTE)  # type of the serialized object
        standard = [reader.read_moment() for _ in range(reader.read(_INT))]
        for _ in range(len(standard) + 1):
            reader.read_offset()
        moments = [reader.read_moment() for _ in range(reader.read(_INT))]
        offsets = [reader.read_offset() for _ in range(len(moments) + 1)]
        rules = [_YearlyRule.from_reader(reader) for _ in range(reader.read(_BYTE))]
        self._repeat_from_s: int | None = None
        if rules:
            last = moments[-1] if moments else 0
            first_year = dt.date.fromordinal(last // _DAY_S + _EPOCH_DAY).year
            for year in range(first_year, first_year + 402):
                for moment, offset in sorted(rule.find_transition(year) for rule in rules):
                    if moment > last:
                        moments.append(moment)
                        offsets.append(offset)
            self._repeat_from_s = moments[-1] - _CYCLE_DAYS * _DAY_S
        self._moments, self._offsets = moments, offsets
        # At a transition the clock jumps from one local time to another. The earlier offset counts
        # for all local times before the later of the two.
        pairs = pairwise(offsets)
        self._local_ends = [m + max(pair) for m, pair in zip(moments, pairs, strict=True)]

    def offset_at(self, moment_s: int) -> int:
        return self._offsets[bisect_right(self._moments, self._fold_cycle(moment_s))]

    def offset_of_local(self, local_s: int) -> int:
        return self._offsets[bisect_right(self._local_ends, self._fold_cycle(local_s))]

    def _fold_cycle(self, time_s: int) -> int:
        """Return a time that has the same offset and lies before the end of the expanded years."""
        start = self._repeat_from_s
        if start is None or time_s < start + _CYCLE_DAYS * _DAY_S:
            return time_s
        return start + (time_s - start) % (_CYCLE_DAYS * _DAY_S)


@dataclass(frozen=True, slots=True)
class _YearlyRule:
    """Change of the offset once a year, like Java's `ZoneOffsetTransitionRule`.

    Args:
        month: month of the change, from 1.
        day: day of the month; -1 is the last day, -2 the day before it, and so on.
        weekday: the change is on the first such ISO weekday on or after `day` or, if `day` is
            negative, on the last one on or before `day`; 0 if the change is on `day` itself.
        time_s: time of the day, in seconds.
        clock: clock of `time_s`: 0 for UTC, 1 for local time, 2 for standard time.
        standard: standard offset, in seconds.
        before: offset before the change, in seconds.
        after: offset after the change, in seconds.
    """

    month: int
    day: int
    weekday: int
    time_s: int
    clock: int
    standard: int
    before: int
    after: int

    @classmethod
    def from_reader(cls, reader: _Reader) -> _YearlyRule:
        packed = reader.read(_INT)
        time, standard = packed >> 14 & 31, packed >> 4 & 255
        before, after = packed >> 2 & 3, packed & 3
        time_s = reader.read(_INT) if time == 31 else time * 3600
        standard_s = reader.read(_INT) if standard == 255 else (standard - 128) * 900
        before_s = reader.read(_INT) if before == 3 else standard_s + before * 1800
        after_s = reader.read(_INT) if after == 3 else standard_s + after * 1800
        return cls(
            packed >> 28 & 15, (packed >> 22 & 63) - 32, packed >> 19 & 7, time_s, packed >> 12 & 3,
            standard_s, before_s, after_s,
        )  # fmt: skip

    def find_transition(self, year: int) -> tuple[int, int]:
        """Return the time of the change in a given year, and the offset after it.

        The time is in seconds since 1970, the offset in seconds.
        """
        if self.day < 0:  # counted from the end of the month
            following = dt.date(year + self.month // 12, self.month % 12 + 1, 1)
            day = following + dt.timedelta(days=self.day)
            if self.weekday:
                day -= dt.timedelta(days=(day.isoweekday() - self.weekday) % 7)
        else:
            day = dt.date(year, self.month, self.day)
            if self.weekday:
                day += dt.timedelta(days=(self.weekday - day.isoweekday()) % 7)
        shown_s = (day.toordinal() - _EPOCH_DAY) * _DAY_S + self.time_s  # on the clock of the rule
        return shown_s - (0, self.before, self.standard)[self.clock], self.after


@dataclass(frozen=True, slots=True)
class TimeZones:
    """Time zones of a Java installation; `content` is the content of its file `lib/tzdb.dat`."""

    content: bytes

    def find_rules(self, zone: str) -> bytes | None:
        """Return the serialized rules of a zone, or None if there is no zone of that name."""
        return _index_zones(self.content).get(zone)

    def find_session_rules(self, zone: str) -> bytes | None:
        """Return the serialized rules of a session's zone, or None if `find_clock` needs none.

        None is returned for UTC, because Python and Java agree on it; for the short names EST, MST
        and HST, because their meaning depends on the release of Java; and for an unknown zone.
        """
        return None if zone in UTC_NAMES + _SHORT_IDS else self.find_rules(zone)

    @property
    def names(self) -> list[str]:
        """Names of all zones."""
        return list(_index_zones(self.content))


@lru_cache(maxsize=4)
def _index_zones(content: bytes) -> Mapping[str, bytes]:
    """Return the serialized rules of all zones by name."""
    reader = _Reader(content)
    if reader.read(_BYTE) != 1 or reader.read_text() != "TZDB":
        raise ValueError("content is not a time zone database of Java (lib/tzdb.dat)")
    for _ in range(reader.read(_SHORT)):
        reader.read_text()  # a release of the database; the file has only one
    names = [reader.read_text() for _ in range(reader.read(_SHORT))]
    rules = [reader.read_bytes(reader.read(_SHORT)) for _ in range(reader.read(_SHORT))]
    zones = {names[name]: rules[rule] for name, rule in reader.read_pairs()}
    return zones | {names[alias]: zones[names[name]] for alias, name in reader.read_pairs()}


@lru_cache(maxsize=1 << 10)
def find_clock(zone: str, rules: bytes | None) -> Clock:
    """Return the clock of a zone, from Java's `rules` or, if they are None, from Python's database.

    Raises:
        UncertainTimeError: `rules` is None, and Java or Python may not have such a zone.
    """
    if rules is not None:
        return ZoneRules(rules)
    if zone in UTC_NAMES:
        return _UtcClock()
    if "/" not in zone or zone.partition("/")[0] in _OTHER_AREAS or zone in _NEW_ZONES:
        raise UncertainTimeError(
            f"zone {zone!r} cannot be read without Spark: write times with an offset, such as "
            "'2024-05-31 18:30:00+02:00'"
        )
    if not is_system_zone(zone):
        raise UncertainTimeError(
            f"zone {zone!r} is not known without Spark: write times with an offset, such as "
            "'2024-05-31 18:30:00+02:00'"
        )
    return _SystemClock(ZoneInfo(zone))


def is_system_zone(zone: str) -> bool:
    """Return whether Python's database has a zone with this name."""
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        return False
    return True


_SHORT_IDS = ("EST", "MST", "HST")  # offsets or regions, depending on the release of Java
_OTHER_AREAS = ("posix", "right", "SystemV")
_NEW_ZONES = ("America/Coyhaique",)  # missing in some releases of Java on which Spark runs
_AGREED_FROM_S = 3652 * _DAY_S  # 1980: releases of the database still change earlier times
_FIRST_YEAR_OF_RULES = 2200


class _UtcClock:
    """Clock of UTC."""

    def offset_at(self, moment_s: int) -> int:
        return 0

    def offset_of_local(self, local_s: int) -> int:
        return 0


class _SystemClock:
    """Clock of a zone in Python's database, for times on which it agrees with Java's."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone

    def offset_at(self, moment_s: int) -> int:
        moment = dt.datetime.fromtimestamp(self._fold_cycle(moment_s), dt.UTC)
        return self._read_offset(moment.astimezone(self._zone))

    def offset_of_local(self, local_s: int) -> int:
        shown = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=self._fold_cycle(local_s))
        return self._read_offset(shown.replace(tzinfo=self._zone))

    def _read_offset(self, time: dt.datetime) -> int:
        offset = time.utcoffset()
        assert offset is not None
        return offset // dt.timedelta(seconds=1)

    def _fold_cycle(self, time_s: int) -> int:
        if time_s < _AGREED_FROM_S:
            raise UncertainTimeError(
                f"a time before 1980 in zone {self._zone.key} cannot be read without Spark: write "
                "it in UTC, such as '1965-06-01 12:00:00Z'"
            )
        start = (_FIRST_YEAR_OF_RULES - 1970) * 365 * _DAY_S
        return time_s if time_s < start else start + (time_s - start) % (_CYCLE_DAYS * _DAY_S)


class _Reader:
    """Reader of big-endian values as Java serializes them."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def read(self, layout: Struct) -> int:
        (value,) = layout.unpack_from(self._content, self._at)
        self._at += layout.size
        return int(value)

    def read_bytes(self, size: int) -> bytes:
        self._at += size
        return self._content[self._at - size : self._at]

    def read_text(self) -> str:
        return self.read_bytes(self.read(_SHORT)).decode()

    def read_pairs(self) -> Iterator[tuple[int, int]]:
        for _ in range(self.read(_SHORT)):
            yield self.read(_SHORT), self.read(_SHORT)

    def read_offset(self) -> int:
        quarters = self.read(_SIGNED_BYTE)
        return self.read(_INT) if quarters == 127 else quarters * 900

    def read_moment(self) -> int:
        high = self.read(_BYTE)
        if high == 255:
            return self.read(_LONG)
        return ((high << 16) + self.read(_SHORT)) * 900 - 4_575_744_000


_BYTE, _SIGNED_BYTE, _SHORT, _INT, _LONG = map(Struct, (">B", ">b", ">H", ">i", ">q"))
