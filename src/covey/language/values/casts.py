"""Spark's casts from text to number, date, time and boolean, as comparisons apply them.

Each function returns the value, or None if Spark's cast fails: Spark returns null or, in ANSI mode,
raises an error. Dates are in days and times in microseconds since 1970-01-01. LiteralError is
raised for some texts although Spark would cast them: for example, texts whose meaning changes with
the current time (`'today'`, a time without a date), and texts that are hardly ever intended
(`'0x1p3'`).
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
"""Decimal arithmetic with enough digits for any decimal of Spark; Python's default has 28."""
_SECOND_US = 1_000_000
DAY_US = 86_400 * _SECOND_US
_CYCLE_DAYS = 400 * 365 + 97  # days after which the calendar and its weekdays repeat


def literal_hint(type_: Type) -> str:
    """Return the suggestion that messages give where a literal of a type is expected."""
    if type_.is_numeric:
        return "write a number"
    return {
        "boolean": "write true or false", "date": "write a day such as '2024-05-31'",
        "timestamp": "write a time such as '2024-05-31 18:30:00'",
        "timestamp_ntz": "write a time such as '2024-05-31 18:30:00'",
    }.get(type_.name, "write a text in quotes")  # fmt: skip


def to_boolean(text: str) -> bool | None:
    """Return the boolean of a text, or None if it has none.

    `t`, `true`, `y`, `yes` and `1` are true, and `f`, `false`, `n`, `no` and `0` are false, in
    upper and in lower case.
    """
    word = text.strip(_BLANK).lower()
    if word in ("t", "true", "y", "yes", "1"):
        return True
    return False if word in ("f", "false", "n", "no", "0") else None


_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
_TRUNCATED = re.compile(r"([+-]?[0-9]*)(?:\.[0-9]*)?", re.ASCII)


def to_integer(text: str, bits: int, ansi: bool) -> int | None:
    """Return the whole number of a text if it fits a signed integer of `bits` bits, or None.

    Without ANSI mode, digits after the point are dropped.
    """
    text = text.strip(_BLANK)
    match = (_WHOLE if ansi else _TRUNCATED).fullmatch(text)
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
    """Return the number of a text exactly as written, or None if the text is not a number.

    The caller rounds the number to float or double. Infinities and NaN are returned as floats, all
    other numbers as decimals. A number far beyond the range of doubles becomes zero or infinity.

    Raises:
        LiteralError: the number is hexadecimal, or has too many characters.
    """
    text = text.strip(_BLANK[:-1])
    if _FLOAT.fullmatch(text):
        return _parse_number(text.rstrip("dDfF"))
    if "0x" in text.lower():
        raise LiteralError(f"hexadecimal number {text!r} is not supported; write it in decimal")
    return float("nan") if text in ("+NaN", "-NaN") else _SPECIAL.get(text.lower())


def _parse_number(text: str) -> Decimal | float:
    """Return a number as a decimal, or the zero or infinity to which any double would round it.

    Raises:
        LiteralError: the number has more than 4,000 characters without its exponent, or its
            exponent has more than 9.
    """
    number, _, exponent = text.lower().partition("e")
    if len(exponent) > 9 or len(number) > 4000:
        raise LiteralError(
            "a number may have at most 4,000 characters before its exponent, and 9 in the exponent"
        )
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
    """Return the decimal of a text, rounded half up to the scale of a type.

    Return None if the text is not a number, or the number does not fit the type.

    Raises:
        LiteralError: the text has digits that are not ASCII, or too many characters.
    """
    text = text.strip(_BLANK[:-1])
    if not _DECIMAL.fullmatch(text):
        if any(character.isdigit() and not character.isascii() for character in text):
            raise LiteralError(f"the digits in {text!r} are not ASCII; write 0 to 9")
        return None
    value = _parse_number(text)
    return None if isinstance(value, float) else rescale_decimal(value, type_)


def rescale_decimal(value: Decimal, type_: Type) -> Decimal | None:
    """Return a decimal rounded half up to a type's scale, or None if it does not fit the type."""
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
    """Return the days since 1970-01-01 of `yyyy`, `yyyy-m`, `yyyy-m-d` or `epoch`.

    After the day, a blank or T may follow, with any text after it, which is ignored. Return None
    for any other text, and for a date that does not exist.
    """
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
    """Return the local time of a text in microseconds, and its time zone as written.

    The time zone is None if the text has none. If the text is not a time, the result is None.
    """
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
    """Return 0 for `epoch`; raise LiteralError for words and times that depend on the current day.

    Return None for any other text.
    """
    word = text.strip(_BLANK)
    if word.lower() == "epoch":
        return 0
    if _WORDS.fullmatch(word) or re.match(r"T?[0-9]{1,2}:", word):
        raise LiteralError(f"the meaning of {word!r} changes every day; write a date")
    return None


def to_timestamp_ntz(text: str, settings: SessionSettings) -> int | None:
    """Return the local time of a text; a time zone in the text must be valid but is not used."""
    parsed = _parse_time(text)
    if parsed is None or (parsed[1] is not None and _parse_zone(parsed[1], settings) is None):
        return None
    return parsed[0] if _fits_int64(parsed[0]) else None


@lru_cache(maxsize=1 << 16)
def to_timestamp(text: str, settings: SessionSettings) -> int | None:
    """Return the moment of a text; a text without a time zone is in the session's time zone."""
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
    """Return a time zone as its offset from UTC in seconds, or as the clock of a region.

    Return None for an offset or region that Spark refuses. LiteralError is raised for names without
    a slash, such as CET, and for regions that only Spark knows.
    """
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
            f"time zone {zone!r} is not supported: write an offset such as +02:00, or a region "
            "such as Europe/Rome"
        )
    try:
        return settings.find_named_clock(zone)
    except UncertainTimeError as error:
        raise LiteralError(str(error)) from None


def local_to_utc(local_us: int, settings: SessionSettings) -> int:
    """Return the moment of a local time in the session's time zone.

    A local time that occurs twice is the earlier of its two moments. A local time that a clock
    change skips is converted with the offset before the change.
    """
    return _subtract_offset(local_us, _find_session_clock(settings))


def _subtract_offset(local_us: int, clock: Clock) -> int:
    """Return the moment at which a clock shows a local time."""
    try:
        return local_us - clock.offset_of_local(local_us // _SECOND_US) * _SECOND_US
    except UncertainTimeError as error:
        raise LiteralError(str(error)) from None


def start_of_day(days: int, settings: SessionSettings) -> int:
    """Return the first moment of a day in the session's time zone.

    If a clock change skips midnight, this is the moment of the change.
    """
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
    """Return the local time of a moment in the session's time zone.

    Raises:
        LiteralError: the offset at this moment is only known with Spark.
    """
    try:
        offset = _find_session_clock(settings).offset_at(moment_us // _SECOND_US)
    except UncertainTimeError as error:
        raise LiteralError(str(error)) from None
    return moment_us + offset * _SECOND_US


def _find_session_clock(settings: SessionSettings) -> Clock:
    """Return the clock of the session's time zone; raise LiteralError if only Spark knows it."""
    try:
        return settings.clock
    except UncertainTimeError as error:
        raise LiteralError(str(error)) from None


def _days_since_epoch(year: int, month: int, day: int) -> int | None:
    """Return the days since 1970-01-01 of a date of the proleptic Gregorian calendar, in any year.

    Return None if the date does not exist or its days do not fit 32 bits.
    """
    cycles = (year - 2000) // 400
    try:
        date_in_cycle = dt.date(year - cycles * 400, month, day)
    except ValueError:
        return None
    days = (date_in_cycle - dt.date(1970, 1, 1)).days + cycles * _CYCLE_DAYS
    return days if -(1 << 31) <= days < 1 << 31 else None


def _fits_int64(micros: int) -> bool:
    """Return whether a time in microseconds fits a signed integer of 64 bits."""
    return -(1 << 63) <= micros < 1 << 63
