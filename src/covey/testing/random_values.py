"""Values of random events: the limits of each type, their neighbours, and a few other values.

There are few different values, so that random predicates, which use the same values, match events.
"""

from __future__ import annotations

import datetime as dt
import random

import numpy as np

from covey.space.keys import decode_key
from covey.space.types import Type

__all__ = ["DATES", "TEXTS", "TIMES", "TOKENS", "random_value"]

_BITS_BY_TYPE = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
TEXTS = [
    "",
    "a",
    "ab",
    "abc",
    "b",
    "B",
    "ba",
    "é",
    "z\U0001f600",
    "\U0001f600",
    "\uffff",
    "a%b",
    "it's",
    "x\\y",
    "7",
    "2020-01-01",
    "true",
    " a",
]
TOKENS = ["a", "b", "c", "it's", "", "\U0001f600"]
DATES = [
    "1969-12-31",
    "1970-01-01",
    "2020-02-29",
    "2024-03-10",
    "2024-11-03",
    "0001-01-01",
    "9999-12-31",
    "1582-10-10",
]
TIMES = [
    "1970-01-01 00:00:00",
    "2024-03-10 02:30:00",
    "2024-11-03 01:30:00",
    "2020-02-29 23:59:59.999999",
    "1883-11-18 12:00:00",
    "2024-03-10 00:00:00",
]


def random_value(rng: random.Random, type_: Type) -> object:
    """Return a random value of a type; it is not null, but a list of tags may contain null."""
    if type_.name in _BITS_BY_TYPE:
        return rng.choice(_integer_values(type_))
    if type_.is_fractional:
        return _random_float(rng, type_)
    if type_.is_decimal:
        return decode_key(rng.choice(_decimal_values(type_)), type_)
    if type_.name == "date":
        return dt.date.fromisoformat(rng.choice([*DATES, "2024-03-09", "2024-03-11"]))
    if type_.is_datetime:
        moment = dt.datetime.fromisoformat(rng.choice(TIMES)) + rng.choice(
            [
                dt.timedelta(0),
                dt.timedelta(hours=5),
                dt.timedelta(hours=4),
                dt.timedelta(microseconds=1),
                dt.timedelta(hours=-1),
            ]
        )
        return moment.replace(tzinfo=dt.UTC) if type_.name == "timestamp" else moment
    if type_.is_text:
        return rng.choice(TEXTS)
    if type_.name == "boolean":
        return rng.random() < 0.5
    if type_.is_tags:
        return [rng.choice([*TOKENS, None]) for _ in range(rng.choice([0, 1, 2, 3]))]
    if type_.is_vector:
        return [
            rng.choice(
                [0.0, 1.0, 0.5, -1.0, 0.1, 3e38, float("nan")]
                if rng.random() < 0.05
                else [0.0, 1.0, 0.5, -1.0, 0.1]
            )
            for _ in range(type_.length)
        ]
    return {name: random_value(rng, field) for name, field in type_.fields}


def _integer_values(type_: Type) -> list[int]:
    bits = _BITS_BY_TYPE[type_.name]
    top = (1 << bits) - 1
    return [
        0,
        1,
        2,
        3,
        -1,
        5,
        7,
        100,
        top,
        -top - 1,
        top - 1,
        min(top, 16777217),
        min(top, (1 << 53) + 1),
        min(top, 1 << 53),
    ]


def _random_float(rng: random.Random, type_: Type) -> float:
    values = [
        0.0,
        -0.0,
        1.0,
        1.5,
        0.1,
        -2.5,
        100.0,
        float("nan"),
        float("inf"),
        float("-inf"),
        5e-324,
        1.7976931348623157e308,
        16777216.0,
        2.0**53,
    ]
    with np.errstate(over="ignore"):
        return (
            float(np.float32(rng.choice(values))) if type_.name == "float" else rng.choice(values)
        )


def _decimal_values(type_: Type) -> list[int]:
    top = 10**type_.precision - 1
    unit = 10**type_.scale  # the unscaled integer of 1
    inner = [0, unit, 3 * unit // 2, -unit, unit // 10, unit + 1, 2 * unit, 5 * unit, 7 * unit]
    return [v for v in inner if abs(v) <= top] + [top, -top, top - 1]
