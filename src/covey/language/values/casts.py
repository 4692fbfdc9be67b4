"""What Spark reads in a text when it compares it with a number, a date, a time or a boolean.

Each function gives the value, or `None` where Spark's cast fails (null, or an error under ANSI).
Dates are days, times microseconds since 1970. What Spark reads but has no fixed meaning (`'today'`,
a time without a date), or what nobody means (`'0x1p3'`), is a `LiteralError` instead.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import lru_cache

from covey.language.values.literals import LiteralError
from covey.space.space import SessionSettings
from covey.space.time_zones import Clock, UncertainTimeError
from covey.space.types import Type

__all__ = [
    "DAY_US",
    "EXACT_CONTEXT",
    "literal_hint",
    "local_to_utc",
    "rescale_decimal",
    "start_of_day",
    "to_boolean",
    "to_date",
    "to_decimal",
    "to_double",
    "to_integer",
    "to_timestamp",
    "to_timestamp_ntz",
    "utc_to_local",
]  # fmt: skip

_BLANK = "".join(map(chr, range(0x21))) + "\x7f"
EXACT_CONTEXT = Context(prec=400, rounding=ROUND_HALF_UP)
"""Arithmetic that rounds no decimal of Spark's; Python's own context keeps 28 digits."""
_SECOND_US = 1_000_000
DAY_US = 86_400 * _SECOND_US
_CYCLE_DAYS = 400 * 365 + 97  # days after which the calendar and its weekdays repeat


def literal_hint(type_: Type) -> str:
    """What to write where a literal of a type is expected."""
    if type_.is_numeric:
        return "write a number"
    return {
        "boolean": "write true or false", "date": "write a day such as '2024-05-31'",
        "timestamp": "write a time such as '2024-05-31 18:30:00'",
        "timestamp_ntz": "write a time such as '2024-05-31 18:30:00'",
    }.get(type_.name, "write a text in quotes")  # fmt: skip


def to_boolean(text: str) -> bool | None:
    """`t`, `true`, `y`, `yes`, `1` and their opposites, in any case."""
    word = text.strip(_BLANK).lower()
    if word in ("t", "true", "y", "yes", "1"):
        return True
    return False if word in ("f", "false", "n", "no", "0") else None


_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
_CUT_OFF = re.compile(r"([+-]?[0-9]*)(?:\.[0-9]*)?", re.ASCII)


def to_integer(text: str, bits: int, ansi: bool) -> int | None:
    """A whole number of so many bits; without ANSI, decimals are cut off."""
    text = text.strip(_BLANK)
    match = (_WHOLE if ansi else _CUT_OFF).fullmatch(text)
    if match is None or text in ("", "+", "-"):
        return None
    digits = match.group() if ansi else match.group(1)
    significant = digits.lstrip("+-0")
    if len(significant) > 20:
        return None
    value = int(significant or "0") * (-1 if digits.startswith("-") else 1)
    return value if -(1 << (bits - 1)) <= value < 1 << (bits - 1) else None


_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?", re.ASCII)
_SPECIAL = {
    "inf": float("inf"), "+inf": float("inf"), "infinity": float("inf"), "+infinity": float("inf"),
    "-inf": float("-inf"), "-infinity": float("-inf"), "nan": float("nan"),
}  # fmt: skip


def to_double(text: str) -> Decimal | float | None:
    """A number, exactly as written (it is yet to be rounded to float or double), or inf or NaN."""
    text = text.strip(_BLANK[:-1])
    if _FLOAT.fullmatch(text):
        return _parse_number(text.rstrip("dDfF"))
    if "0x" in text.lower():
        raise LiteralError(f"a hexadecimal number {text!r} is not read here")
    return float("nan") if text in ("+NaN", "-NaN") else _SPECIAL.get(text.lower())


def _parse_number(text: str) -> Decimal | float:
    """A decimal number of any exponent; where it is beyond every float, what it rounds to."""
    number, _, exponent = text.lower().partition("e")
    if len(exponent) > 9 or len(number) > 4000:
        raise LiteralError("a number of more digits than are read here")
    value = Decimal(text)
    if not value or -400 < value.adjusted() < 400:
        return value
    return (
        Decimal(0).copy_sign(value)
        if value.adjusted() < 0
        else float("inf") * (1 if value > 0 else -1)
    )


_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)


def to_decimal(text: str, type_: Type) -> Decimal | None:
    """A decimal of this type, rounded half up; `None` too where it does not fit."""
    text = text.strip(_BLANK[:-1])
    if not _DECIMAL.fullmatch(text):
        if any(character.isdigit() and not character.isascii() for character in text):
            raise LiteralError(f"digits of another script in {text!r} are not read here")
        return None
    value = _parse_number(text)
    return None if isinstance(value, float) else rescale_decimal(value, type_)


def rescale_decimal(value: Decimal, type_: Type) -> Decimal | None:
    """A decimal brought to a type's scale, rounded half up; `None` where it does not fit."""
    try:
        scaled = value.quantize(Decimal(1).scaleb(-type_.scale), context=EXACT_CONTEXT)
    except InvalidOperation:
        return None
    return (
        scaled
        if scaled.scaleb(type_.scale, EXACT_CONTEXT).copy_abs() < 10**type_.precision
        else None
    )


_DATE = re.compile(
    r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL
)


def to_date(text: str) -> int | None:
    """`yyyy`, `yyyy-m`, `yyyy-m-d`, and anything after a blank or a T that follows."""
    match = _DATE.fullmatch(text.strip(_BLANK))
    if match is None:
        return _parse_special_word(text)
    sign, year, month, day = match.groups()
    return _days_since_epoch(int(sign + year), int(month or 1), int(day or 1))


_TIME = re.compile(
    r"([+-]?)([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?"
    r"\s*([A-Za-z+-].*)?)?)?)?)?)?",
    re.ASCII | re.DOTALL,
)


def _parse_time(text: str) -> tuple[int, str | None] | None:
    """Microseconds of the local time in a text, and its zone as written."""
    match = _TIME.fullmatch(text.strip(_BLANK))
    if match is None:
        epoch = _parse_special_word(text)
        return None if epoch is None else (epoch, "UTC")
    sign, year, month, day, hour, minute, second, fraction, zone = match.groups()
    days = _days_since_epoch(int(sign + year), int(month or 1), int(day or 1))
    h, m, s = int(hour or 0), int(minute or 0), int(second or 0)
    if days is None or h > 23 or m > 59 or s > 59:
        return None
    micros = int(((fraction or "") + "000000")[:6])
    return days * DAY_US + ((h * 60 + m) * 60 + s) * _SECOND_US + micros, zone


_WORDS = re.compile(r"(epoch|now|today|yesterday|tomorrow)(?:\s+\S.*)?", re.IGNORECASE | re.DOTALL)


def _parse_special_word(text: str) -> int | None:
    """1970 for `epoch`; words and times that mean another moment every day are refused."""
    word = text.strip(_BLANK)
    if word.lower() == "epoch":
        return 0
    if _WORDS.fullmatch(word) or re.match(r"T?[0-9]{1,2}:", word):
        raise LiteralError(f"{word!r} means something else every day; write a date")
    return None


def to_timestamp_ntz(text: str, settings: SessionSettings) -> int | None:
    """A local time; a zone in the text is read and not used."""
    parsed = _parse_time(text)
    if parsed is None or (parsed[1] is not None and _parse_zone(parsed[1], settings) is None):
        return None
    return parsed[0] if _fits_int64(parsed[0]) else None


@lru_cache(maxsize=1 << 16)
def to_timestamp(text: str, settings: SessionSettings) -> int | None:
    """A moment: in the zone that the text names, or else in the session's."""
    parsed = _parse_time(text)
    if parsed is None:
        return None
    local, zone = parsed
    if zone is None:
        moment = local_to_utc(local, settings)
    else:
        offset = _parse_zone(zone, settings)
        if offset is None:
            return None
        moment = (
            local - offset * _SECOND_US
            if isinstance(offset, int)
            else _subtract_offset(local, offset)
        )
    return moment if _fits_int64(moment) else None


_OFFSET = re.compile(
    r"(?:UTC|GMT|UT)?([+-])(?:"
    r"([0-9]{1,2})(?::([0-9]{1,2}))?|([0-9]{1,2}):([0-9]{2}):([0-9]{2})"
    r"|([0-9]{2})([0-9]{2})([0-9]{2})?)",
    re.ASCII,
)


def _parse_zone(zone: str, settings: SessionSettings) -> int | Clock | None:
    """A zone as seconds east of UTC, or as the clock of a region, or nothing that Spark knows."""
    zone = zone.strip(_BLANK)
    if zone in ("Z", "UTC", "GMT", "UT"):
        return 0
    if match := _OFFSET.fullmatch(zone):
        sign, *groups = match.groups()
        hours, minutes, seconds = (int(n) for n in (*filter(None, groups), 0, 0)[:3])
        total = hours * 3600 + minutes * 60 + seconds
        if total > 18 * 3600 or minutes > 59 or seconds > 59:
            return None
        return total if sign == "+" else -total
    if "/" not in zone:
        raise LiteralError(
            f"zone {zone!r} is not read here: write an offset or a region such as Europe/Rome"
        )
    try:
        return settings.find_named_clock(zone)
    except UncertainTimeError as error:
        raise LiteralError(str(error)) from None


def local_to_utc(local_us: int, settings: SessionSettings) -> int:
    """The moment of a local time: in an overlap the earlier one, in a gap as far behind it."""
    return _subtract_offset(local_us, _find_session_clock(settings))


def _subtract_offset(local_us: int, clock: Clock) -> int:
    try:
        return local_us - clock.offset_of_local(local_us // _SECOND_US) * _SECOND_US
    except UncertainTimeError as error:
        raise LiteralError(str(error)) from None


def start_of_day(days: int, settings: SessionSettings) -> int:
    """The first moment of a day; where midnight falls into a gap, the end of the gap."""
    midnight = days * DAY_US
    moment = local_to_utc(midnight, settings)
    if utc_to_local(moment, settings) == midnight:
        return moment
    before, after = moment - DAY_US, moment
    while after - before > 1:
        middle = (before + after) // 2
        if utc_to_local(middle, settings) >= midnight:
            after = middle
        else:
            before = middle
    return after


def utc_to_local(moment_us: int, settings: SessionSettings) -> int:
    """What a clock in a zone shows at a moment, in microseconds since it showed 1970."""
    try:
        offset = _find_session_clock(settings).offset_at(moment_us // _SECOND_US)
    except UncertainTimeError as error:
        raise LiteralError(str(error)) from None
    return moment_us + offset * _SECOND_US


def _find_session_clock(settings: SessionSettings) -> Clock:
    try:
        return settings.clock
    except UncertainTimeError as error:
        raise LiteralError(str(error)) from None


def _days_since_epoch(year: int, month: int, day: int) -> int | None:
    """Days since 1970 in the proleptic Gregorian calendar, for any year."""
    spans = (year - 2000) // 400
    try:
        near = dt.date(year - spans * 400, month, day)
    except ValueError:
        return None
    days = (near - dt.date(1970, 1, 1)).days + spans * _CYCLE_DAYS
    return days if -(1 << 31) <= days < 1 << 31 else None


def _fits_int64(micros: int) -> bool:
    return -(1 << 63) <= micros < 1 << 63
