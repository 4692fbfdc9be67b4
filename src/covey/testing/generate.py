"""Random predicates and events over every type, made to meet: both draw from the same few values.

Everything comes from one `random.Random`, so a seed (or hypothesis) decides the whole case.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from covey.space import Attribute, Settings, Space
from covey.space.keys import value
from covey.space.types import Type, to_arrow

__all__ = ["random_events", "random_predicate", "random_space"]

_INTS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
_TEXTS = [
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
_TOKENS = ["a", "b", "c", "it's", "", "\U0001f600"]
_DATES = [
    "1969-12-31",
    "1970-01-01",
    "2020-02-29",
    "2024-03-10",
    "2024-11-03",
    "0001-01-01",
    "9999-12-31",
    "1582-10-10",
]
_TIMES = [
    "1970-01-01 00:00:00",
    "2024-03-10 02:30:00",
    "2024-11-03 01:30:00",
    "2020-02-29 23:59:59.999999",
    "1883-11-18 12:00:00",
    "2024-03-10 00:00:00",
]


def random_space(settings: Settings, vector_length: int = 3) -> Space:
    """A space with an attribute of every type."""
    columns: dict[str, pa.DataType] = {
        "i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64(),
        "f32": pa.float32(), "f64": pa.float64(), "d5": pa.decimal128(5, 0),
        "d10": pa.decimal128(10, 2), "d18": pa.decimal128(18, 6), "d38": pa.decimal128(38, 0),
        "d3818": pa.decimal128(38, 18), "day": pa.date32(), "ts": pa.timestamp("us", "UTC"),
        "ntz": pa.timestamp("us"), "name": pa.string(), "flag": pa.bool_(),
        "tags": pa.list_(pa.string()), "vec": pa.list_(pa.float32()),
        "who": pa.struct([("id", pa.int32()), ("nick", pa.string())]),
    }  # fmt: skip
    return Space.of(columns, vectors={"vec": vector_length}, settings=settings)


def random_events(rng: random.Random, space: Space, count: int) -> pa.Table:
    """Events with extremes and nulls in every column."""
    columns = {}
    for column in space.columns:
        values = [None if rng.random() < 0.12 else _value(rng, column.type) for _ in range(count)]
        columns[column.name] = pa.array(values, to_arrow(column.type))
    return pa.table(columns)


def random_predicate(rng: random.Random, space: Space, depth: int = 3) -> str:
    """A predicate that Spark accepts, with few exceptions."""
    if depth == 0 or rng.random() < 0.4:
        return _condition(rng, space)
    roll = rng.random()
    if roll < 0.2:
        return f"NOT ({random_predicate(rng, space, depth - 1)})"
    word = " AND " if roll < 0.6 else " OR "
    parts = [random_predicate(rng, space, depth - 1) for _ in range(rng.choice([2, 2, 3]))]
    return word.join(f"({part})" for part in parts)


def _value(rng: random.Random, type_: Type) -> Any:
    """A value that an event may hold."""
    if type_.name in _INTS:
        return rng.choice(_whole(type_))
    if type_.is_fractional:
        return _floats(rng, type_)
    if type_.is_decimal:
        return value(rng.choice(_unscaled(type_)), type_)
    if type_.name == "date":
        return dt.date.fromisoformat(rng.choice([*_DATES, "2024-03-09", "2024-03-11"]))
    if type_.is_datetime:
        moment = dt.datetime.fromisoformat(rng.choice(_TIMES)) + rng.choice(
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
        return rng.choice(_TEXTS)
    if type_.name == "boolean":
        return rng.random() < 0.5
    if type_.is_tags:
        return [rng.choice([*_TOKENS, None]) for _ in range(rng.choice([0, 1, 2, 3]))]
    if type_.is_vector:
        return [
            rng.choice(
                [0.0, 1.0, 0.5, -1.0, 0.1, 3e38, float("nan")]
                if rng.random() < 0.05
                else [0.0, 1.0, 0.5, -1.0, 0.1]
            )
            for _ in range(type_.length)
        ]
    return {name: _value(rng, field) for name, field in type_.fields}


def _whole(type_: Type) -> list[int]:
    bits = _INTS[type_.name]
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


def _floats(rng: random.Random, type_: Type) -> float:
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


def _unscaled(type_: Type) -> list[int]:
    top = 10**type_.precision - 1
    one = 10**type_.scale
    inside = [0, one, 3 * one // 2, -one, one // 10, one + 1, 2 * one, 5 * one, 7 * one]
    return [v for v in inside if abs(v) <= top] + [top, -top, top - 1]


def _condition(rng: random.Random, space: Space) -> str:
    attribute = rng.choice(
        [a for a in space.columns if a.type.name != "struct" or rng.random() < 0.3]
    )
    if rng.random() < 0.07:
        possible = [make for reads, make in _DERIVED if all(c in space for c in reads.split())]
        if possible:
            return rng.choice(possible)(rng)
    type_ = attribute.type
    if rng.random() < 0.08:
        return f"{attribute.name} IS {rng.choice(['', 'NOT '])}NULL"
    if type_.name == "struct":
        return rng.choice(
            [
                "who.id > 2",
                "who.nick = 'a'",
                "who.nick LIKE 'a%'",
                "WHO.Id IN (1, 2)",
                "who.id IS NULL",
            ]
        )
    if type_.is_tags:
        return _on_tags(rng, attribute.name)
    if type_.is_vector:
        return _on_vector(rng, attribute)
    if type_.name == "boolean":
        return _on_boolean(rng, attribute.name)
    return _on_scalar(rng, attribute)


def _on_scalar(rng: random.Random, attribute: Attribute) -> str:
    name, type_ = attribute.name, attribute.type
    roll = rng.random()
    if roll < 0.5:
        literal = "NULL" if rng.random() < 0.03 else _literal(rng, type_)
        op = rng.choice(["=", "<>", "!=", "==", "<", "<=", ">", ">=", "<=>"])
        return f"{literal} {op} {name}" if rng.random() < 0.2 else f"{name} {op} {literal}"
    if roll < 0.65:
        between = rng.choice(["BETWEEN", "NOT BETWEEN"])
        return f"{name} {between} {_literal(rng, type_)} AND {_literal(rng, type_)}"
    if roll < 0.85 or not type_.is_text:
        make = rng.choice(_literal_kinds(type_)) if rng.random() < 0.8 else None
        values = [
            make(rng, type_) if make else _literal(rng, type_)
            for _ in range(rng.choice([1, 2, 3, 8]))
        ]
        values += ["NULL"] if rng.random() < 0.1 else []
        return f"{name} {rng.choice(['IN', 'NOT IN'])} ({', '.join(values)})"
    pattern = rng.choice(
        [
            "a%",
            "%",
            "",
            "ab%",
            "%b",
            "a_",
            "\U0001f600%",
            "z%",
            "a\\\\%%",
            "7",
            "\uffff%",
            "\U0010ffff%",
        ]
    )
    if roll < 0.95:
        return f"{name} {rng.choice(['LIKE', 'NOT LIKE'])} '{pattern}'"
    return f"{rng.choice(['', 'NOT '])}startswith({name}, {_text(rng)})"


_OF_BOOLEANS = (
    "= true;<> false;IS TRUE;IS NOT FALSE;<=> true;> false;IN (true);IN (true, false);= 'true';"
    "= 'no';IS UNKNOWN;IS NOT DISTINCT FROM false;= NULL"
)


def _on_boolean(rng: random.Random, name: str) -> str:
    return rng.choice(
        [name, f"NOT {name}", f"NOT ({name} <=> false)"]
        + [f"{name} {rest}" for rest in _OF_BOOLEANS.split(";")]
    )


def _on_tags(rng: random.Random, name: str) -> str:
    not_ = rng.choice(["", "NOT "])
    if rng.random() < 0.5:
        return f"{not_}array_contains({name}, {_quoted(rng.choice(_TOKENS))})"
    tokens = [_quoted(rng.choice(_TOKENS)) for _ in range(rng.choice([1, 2, 3]))]
    if rng.random() < 0.15:
        tokens.append("NULL")
    return f"{not_}arrays_overlap({name}, array({', '.join(tokens)}))"


def _on_vector(rng: random.Random, attribute: Attribute) -> str:
    numbers = [
        rng.choice(["0", "1", "0.5", "-1", "0.1", "2.25"]) for _ in range(attribute.type.length)
    ]
    if rng.random() < 0.5:
        centre = f"CAST(array({', '.join(numbers)}) AS ARRAY<FLOAT>)"
    else:
        centre = f"array({', '.join(number + 'F' for number in numbers)})"
    op = rng.choice(["<", "<=", ">", ">=", "=", "<>"])
    if rng.random() < 0.5:
        bound = rng.choice(["0", "1", "0.5", "1.5", "2", "0.75D", "1.4142135F", "1e1", "0.9"])
        return f"vector_l2_distance({attribute.name}, {centre}) {op} {bound}"
    bound = rng.choice(["0", "0.5", "1", "-0.5", "0.7071067D", "0.9F", "0.99999994"])
    return f"vector_cosine_similarity({centre}, {attribute.name}) {op} {bound}"


# What each reads, and a predicate of it.
_DERIVED: Sequence[tuple[str, Callable[[random.Random], str]]] = [
    ("name", lambda rng: f"lower(name) {rng.choice(['=', '<', '>='])} {_text(rng)}"),
    ("name", lambda rng: f"length(name) {rng.choice(['=', '<', '>='])} {rng.randrange(4)}"),
    ("f64", lambda rng: f"f64 / 2 {rng.choice(['<', '>'])} {rng.randrange(3)}"),
    ("i8 i16", lambda rng: "i8 > i16"),
    ("name ntz ts", lambda rng: "name LIKE '%b%' OR ntz < ts"),
    ("name", lambda rng: f"array_contains(split(name, 'b'), {_text(rng)})"),
    ("day", lambda rng: f"year(day) {rng.choice(['=', '<', '>='])} 2020"),
    ("i8", lambda rng: "coalesce(i8, 3) = 3"),
    ("flag i8 i16", lambda rng: "CASE WHEN flag THEN i8 ELSE i16 END > 1"),
    ("d10", lambda rng: f"d10 * 2 > {rng.randrange(4)}"),
    ("i8", lambda rng: "i8 / 4 >= 0.25"),
    ("tags", lambda rng: "size(tags) > 1"),
    ("name", lambda rng: "name || 'x' = 'ax'"),
]


def _literal(rng: random.Random, type_: Type) -> str:
    return rng.choice(_literal_kinds(type_))(rng, type_)


def _literal_kinds(type_: Type) -> list[Callable[[random.Random, Type], str]]:
    if type_.is_numeric:
        return [
            _int_literal,
            _int_literal,
            _decimal_literal,
            _decimal_literal,
            _double_literal,
            _suffixed,
            _numeric_text,
        ]
    if type_.name == "date":
        return [_date_text, _date_literal, _date_literal, _timestamp_literal]
    if type_.is_datetime:
        return [_time_text, _timestamp_literal, _timestamp_literal, _date_literal, _ntz_literal]
    return [lambda rng, _: _text(rng)]


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


def _suffixed(rng: random.Random, type_: Type) -> str:
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
    whole = ["'1'", "' 5 '", "'-3'", "'+7'", "'0'"]
    rest = ["'1.5'", "'0.1'", "'nan'", "'-Infinity'", "'1e2'"]
    return rng.choice(
        whole if type_.is_integral or (type_.is_decimal and rng.random() < 0.8) else whole + rest
    )


def _date_text(rng: random.Random, type_: Type) -> str:
    return _quoted(
        rng.choice(
            [*_DATES, "2020-2-29", "2024", "2024-03", " 2024-03-10 ", "2024-03-10T12", "epoch"]
        )
    )


def _date_literal(rng: random.Random, type_: Type) -> str:
    return f"DATE {_quoted(rng.choice(_DATES))}"


def _time_text(rng: random.Random, type_: Type) -> str:
    return _quoted(
        rng.choice(
            [
                *_TIMES,
                *_DATES,
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


def _text(rng: random.Random) -> str:
    return _quoted(rng.choice(_TEXTS))


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
