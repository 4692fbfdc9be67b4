"""Writer of keys and texts as Spark literals.

If a literal that is written here is decoded, the result is the same key, under any session
settings.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from covey.space.keys import decode_key
from covey.space.types import FLOAT, Type

__all__ = ["float32_literal", "format_day", "format_time", "key_literal", "quote_string"]

_ESCAPED = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quote_string(text: str) -> str:
    """Return a text as a string literal.

    >>> print(quote_string("it's"))
    'it\\'s'
    """
    return "'" + "".join(_ESCAPED.get(c, c if c >= " " else f"\\u{ord(c):04x}") for c in text) + "'"


def float32_literal(number: float) -> str:
    """Return the shortest literal that Spark reads as the float32 of a number."""
    if not math.isfinite(number):
        return _special_literal(number)
    return f"{np.float32(number)!s}F"


def key_literal(key: Any, type_: Type) -> str:
    """Return a key of a scalar attribute as a literal.

    >>> from covey.space.types import DATE, decimal_type
    >>> key_literal(19000, DATE), key_literal(-5, decimal_type(9, 2))
    ("DATE '2022-01-08'", '-0.05BD')
    """
    if type_.is_text:
        return quote_string(key)
    value = decode_key(key, type_)
    if type_.name == "boolean":
        return "true" if value else "false"
    if type_ == FLOAT:
        return float32_literal(value)
    if type_.name == "double":
        return f"{value!r}D" if math.isfinite(value) else _special_literal(value)
    if type_.is_decimal:
        return f"{value:f}BD"
    if type_.name == "date":
        return f"DATE '{format_day(int(key))}'"
    if type_.is_datetime:
        zone = "Z" if type_.name == "timestamp" else ""
        return f"{type_.name.upper()} '{format_time(int(key))}{zone}'"
    return str(int(key))


def _special_literal(number: float) -> str:
    """Return an infinity or NaN as a text that Spark casts, because SQL has no literal for it."""
    return "'NaN'" if math.isnan(number) else "'Infinity'" if number > 0 else "'-Infinity'"


def format_time(micros: int) -> str:
    """Return a local time, given in microseconds since 1970, as date and time with microseconds.

    Any year can be written.

    >>> format_time(0), format_time(-(10**18))
    ('1970-01-01 00:00:00.000000', '-29719-04-05 22:13:20.000000')
    """
    days, micros_of_day = divmod(micros, 86_400_000_000)
    seconds, fraction = divmod(micros_of_day, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"
    return f"{format_day(days)} {clock}"


def format_day(days: int) -> str:
    """Return a day, given in days since 1970, as a date of the proleptic Gregorian calendar.

    Any year can be written. The format is that of Spark.

    >>> format_day(19000), format_day(10**7), format_day(-(10**6))
    ('2022-01-08', '+29349-01-26', '-0768-02-04')
    """
    cycles, days_in_cycle = divmod(days, 146_097)  # the calendar repeats after 400 years
    date = np.datetime64(days_in_cycle, "D").astype(object)
    year = date.year + 400 * cycles
    year_text = f"{year:04}" if 0 <= year <= 9999 else f"{year:+05}"
    return f"{year_text}-{date.month:02}-{date.day:02}"
