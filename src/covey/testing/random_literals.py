"""Literals for random predicates, in the notations that Spark accepts."""

from __future__ import annotations

import random
from collections.abc import Callable

from covey.language.values import quote_string
from covey.space.types import Type
from covey.testing.random_values import DATES, TEXTS, TIMES

__all__ = ["literal_writers", "random_literal", "random_text"]


def random_literal(rng: random.Random, type_: Type) -> str:
    """Return a random literal, as SQL text, that can be compared with an attribute of a type."""
    return rng.choice(literal_writers(type_))(rng, type_)


def literal_writers(type_: Type) -> list[Callable[[random.Random, Type], str]]:
    """Return functions that each return a random literal for a type, in one notation.

    A function may be in the list twice, so that its notation is drawn more often.
    """
    if type_.is_numeric:
        return [
            _int_literal,
            _int_literal,
            _decimal_literal,
            _decimal_literal,
            _double_literal,
            _suffixed_literal,
            _numeric_text,
        ]
    if type_.name == "date":
        return [_date_text, _date_literal, _date_literal, _timestamp_literal]
    if type_.is_datetime:
        return [_time_text, _timestamp_literal, _timestamp_literal, _date_literal, _ntz_literal]
    return [lambda rng, _: random_text(rng)]


def _int_literal(rng: random.Random, type_: Type) -> str:
    small = rng.choice([0, 1, 2, 3, 5, 7, 100, -1, -3])
    if rng.random() < 0.85:
        return str(small)
    return str(
        rng.choice(
            [
                127,
                128,
                -128,
                32767,
                2**31 - 1,
                -(2**31),
                2**31,
                2**53 + 1,
                2**63 - 1,
                -(2**63),
                2**63,
                10**25,
                -(10**25),
                10**37,
            ]
        )
    )


def _decimal_literal(rng: random.Random, type_: Type) -> str:
    return rng.choice(
        [
            "1.5",
            "0.1",
            "-2.5",
            "0.0",
            "1.50",
            "100.0",
            "2.4999",
            ".5",
            "5.",
            "1.000001",
            "1.0000000000000000000000001",
            "99999999999999999999.5",
            "0.1234567890123456789012345678",
            "7.00",
        ]
    )


def _double_literal(rng: random.Random, type_: Type) -> str:
    return rng.choice(
        [
            "1.5D",
            "1e0",
            "1e2",
            "0.1D",
            "-2.5e0",
            "5e-324",
            "1.7976931348623157e308",
            "9007199254740992D",
            "16777216D",
            "-0.0D",
            "1e25",
        ]
    )


def _suffixed_literal(rng: random.Random, type_: Type) -> str:
    return rng.choice(
        [
            "1.5F",
            "0.1F",
            "16777216F",
            "5L",
            "1S",
            "3Y",
            "1.5BD",
            "-2.5F",
            "9223372036854775807L",
            "7BD",
        ]
    )


def _numeric_text(rng: random.Random, type_: Type) -> str:
    integers = ["'1'", "' 5 '", "'-3'", "'+7'", "'0'"]
    fractions = ["'1.5'", "'0.1'", "'nan'", "'-Infinity'", "'1e2'"]
    integers_only = type_.is_integral or (type_.is_decimal and rng.random() < 0.8)
    return rng.choice(integers if integers_only else integers + fractions)


def _date_text(rng: random.Random, type_: Type) -> str:
    return quote_string(
        rng.choice(
            [*DATES, "2020-2-29", "2024", "2024-03", " 2024-03-10 ", "2024-03-10T12", "epoch"]
        )
    )


def _date_literal(rng: random.Random, type_: Type) -> str:
    return f"DATE {quote_string(rng.choice(DATES))}"


def _time_text(rng: random.Random, type_: Type) -> str:
    return quote_string(
        rng.choice(
            [
                *TIMES,
                *DATES,
                "2024-03-10T02:30",
                "2024-11-03 01:30:00+01:00",
                "2024-11-03 01:30:00 Europe/Berlin",
                "2024-03-10 2",
                "2020-02-29 23:59:59.9999999",
                "2024-11-03T05:30:00Z",
            ]
        )
    )


def _timestamp_literal(rng: random.Random, type_: Type) -> str:
    return f"TIMESTAMP {_time_text(rng, type_)}"


def _ntz_literal(rng: random.Random, type_: Type) -> str:
    return f"TIMESTAMP_NTZ {_time_text(rng, type_)}"


def random_text(rng: random.Random) -> str:
    """Return one of the texts that occur in random events, quoted as a literal."""
    return quote_string(rng.choice(TEXTS))
