"""Time zones: what a clock shows at a moment, and which moment it is when a clock shows something.

Spark asks Java, whose time zone database differs from that of Python: mostly before 1970, but also
by release, and in the names of zones. A space of a Spark session therefore has the rules of Java
(`TimeZones`). A space that has never seen Spark asks Python, and only for zones and times on which
both agree; the rest is an error.

Cost: a microsecond for a conversion, and a millisecond for the first one in a zone.
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
"""Names of UTC that mean it everywhere."""

_DAY_S = 86_400
_CYCLE_DAYS = 400 * 365 + 97  # days after which the calendar and its weekdays repeat
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()


class UncertainTimeError(ValueError):
    """A time in a zone of which it is not known what Spark makes of it."""


class Clock(Protocol):
    """Seconds by which a zone's clock is ahead of UTC."""

    def offset_at(self, moment_s: int) -> int:
        """Return the offset at a moment, in seconds since 1970."""
        ...

    def offset_of_local(self, local_s: int) -> int:
        """Return the offset when the clock shows a time, in seconds since it showed 1970.

        In an overlap that is the earlier offset, and in a gap the one before it.
        """
        ...


class ZoneRules:
    """The clock of one zone of Java's, from its serialized `java.time.zone.ZoneRules`.

    Rules without an end are written out for the 400 years after which the calendar repeats.

    >>> ZoneRules(bytes.fromhex("01 00000000 04 00000000 04 00")).offset_at(0)
    3600
    """

    def __init__(self, content: bytes) -> None:
        reader = _Reader(content)
        reader.read(_BYTE)  # what is serialized
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
        # The clock is on the earlier offset until it shows the later of what it shows around then.
        pairs = pairwise(offsets)
        self._local_ends = [m + max(pair) for m, pair in zip(moments, pairs, strict=True)]

    def offset_at(self, moment_s: int) -> int:
        return self._offsets[bisect_right(self._moments, self._fold_cycle(moment_s))]

    def offset_of_local(self, local_s: int) -> int:
        return self._offsets[bisect_right(self._local_ends, self._fold_cycle(local_s))]

    def _fold_cycle(self, time_s: int) -> int:
        """Return a time at which the offset is the same, and which is written out."""
        start = self._repeat_from_s
        if start is None or time_s < start + _CYCLE_DAYS * _DAY_S:
            return time_s
        return start + (time_s - start) % (_CYCLE_DAYS * _DAY_S)


@dataclass(frozen=True, slots=True)
class _YearlyRule:
    """A change of the offset once a year, as Java has it in `ZoneOffsetTransitionRule`."""

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
        """Return the moment of the change in a year, and the offset after it."""
        if self.day < 0:  # counted from the end of the month
            following = dt.date(year + self.month // 12, self.month % 12 + 1, 1)
            day = following + dt.timedelta(days=self.day)
            if self.weekday:
                day -= dt.timedelta(days=(day.isoweekday() - self.weekday) % 7)
        else:
            day = dt.date(year, self.month, self.day)
            if self.weekday:
                day += dt.timedelta(days=(self.weekday - day.isoweekday()) % 7)
        at = (day.toordinal() - _EPOCH_DAY) * _DAY_S + self.time_s
        return at - (0, self.before, self.standard)[self.clock], self.after


@dataclass(frozen=True, slots=True)
class TimeZones:
    """The time zones of a Java: `content` is its file `lib/tzdb.dat`."""

    content: bytes

    def find_rules(self, zone: str) -> bytes | None:
        """Return the serialized rules of a zone, or None if there is no zone of that name."""
        return _index_zones(self.content).get(zone)

    def find_session_rules(self, zone: str) -> bytes | None:
        """Return the rules of the zone of a session, or None where they are not needed or known."""
        return None if zone in UTC_NAMES + _SHORT_IDS else self.find_rules(zone)

    @property
    def names(self) -> list[str]:
        """The names of all zones."""
        return list(_index_zones(self.content))


@lru_cache(maxsize=4)
def _index_zones(content: bytes) -> Mapping[str, bytes]:
    """Return the serialized rules of all zones by name."""
    reader = _Reader(content)
    if reader.read(_BYTE) != 1 or reader.read_text() != "TZDB":
        raise ValueError("this is no time zone database of Java's")
    for _ in range(reader.read(_SHORT)):
        reader.read_text()  # a release: there is only one
    names = [reader.read_text() for _ in range(reader.read(_SHORT))]
    rules = [reader.read_bytes(reader.read(_SHORT)) for _ in range(reader.read(_SHORT))]
    zones = {names[name]: rules[rule] for name, rule in reader.read_pairs()}
    return zones | {names[alias]: zones[names[name]] for alias, name in reader.read_pairs()}


@lru_cache(maxsize=1 << 10)
def find_clock(zone: str, rules: bytes | None) -> Clock:
    """Return the clock of a zone: by Java's rules, or else of Python's database.

    Raises:
        UncertainTimeError: there are no rules, and Java may not have such a zone.
    """
    if rules is not None:
        return ZoneRules(rules)
    if zone in UTC_NAMES:
        return _UtcClock()
    if "/" not in zone or zone.partition("/")[0] in _OTHER_AREAS or zone in _NEW_ZONES:
        raise UncertainTimeError(f"zone {zone!r} is not read without Spark: write an offset")
    if not is_system_zone(zone):
        raise UncertainTimeError(f"zone {zone!r} is not known without Spark: write an offset")
    return _SystemClock(ZoneInfo(zone))


def is_system_zone(zone: str) -> bool:
    """Return whether Python knows a zone of this name."""
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        return False
    return True


_SHORT_IDS = ("EST", "MST", "HST")  # offsets or regions, as the release of Java has it
_OTHER_AREAS = ("posix", "right", "SystemV")
_NEW_ZONES = ("America/Coyhaique",)  # which not every Java has that Spark runs on
_AGREED_FROM_S = 3652 * _DAY_S  # 1980: releases of the database still change what was before
_FIRST_YEAR_OF_RULES = 2200


class _UtcClock:
    """The clock of UTC."""

    def offset_at(self, moment_s: int) -> int:
        return 0

    def offset_of_local(self, local_s: int) -> int:
        return 0


class _SystemClock:
    """A clock of Python's time zones, for times on which they agree with Java's."""

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
                f"a time before 1980 in zone {self._zone.key} is not read without Spark: write it "
                "in UTC, as '1965-06-01 12:00:00Z'"
            )
        start = (_FIRST_YEAR_OF_RULES - 1970) * 365 * _DAY_S
        return time_s if time_s < start else start + (time_s - start) % (_CYCLE_DAYS * _DAY_S)


class _Reader:
    """Reads big-endian values as Java writes them."""

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
