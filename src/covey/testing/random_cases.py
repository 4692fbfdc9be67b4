"""Random predicates and events over columns of all types.

Predicates often match events, because both draw from the same few values. One `random.Random` makes
all choices, so a case can be repeated with its seed, or by hypothesis.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pyarrow as pa

from covey.language.values import quote_string
from covey.space import Attribute, SessionSettings, Space
from covey.space.types import type_to_arrow
from covey.testing.random_literals import literal_writers, random_literal, random_text
from covey.testing.random_values import TOKENS, random_value

__all__ = ["random_events", "random_predicate", "random_space"]


def random_space(settings: SessionSettings, vector_length: int = 3) -> Space:
    """Return a space with columns of all types; vectors have `vector_length` elements."""
    columns: dict[str, pa.DataType] = {
        "i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64(),
        "f32": pa.float32(), "f64": pa.float64(), "d5": pa.decimal128(5, 0),
        "d10": pa.decimal128(10, 2), "d18": pa.decimal128(18, 6), "d38": pa.decimal128(38, 0),
        "d3818": pa.decimal128(38, 18), "day": pa.date32(), "ts": pa.timestamp("us", "UTC"),
        "ntz": pa.timestamp("us"), "name": pa.string(), "flag": pa.bool_(),
        "tags": pa.list_(pa.string()), "vec": pa.list_(pa.float32()),
        "who": pa.struct([("id", pa.int32()), ("nick", pa.string())]),
    }  # fmt: skip
    return Space.from_types(columns, vectors={"vec": vector_length}, settings=settings)


def random_events(rng: random.Random, space: Space, count: int) -> pa.Table:
    """Return `count` random events with nulls and extreme values in every column."""
    columns = {}
    for column in space.columns:
        values = [
            None if rng.random() < 0.12 else random_value(rng, column.type) for _ in range(count)
        ]
        columns[column.name] = pa.array(values, type_to_arrow(column.type))
    return pa.table(columns)


def random_predicate(rng: random.Random, space: Space, *, depth: int = 3) -> str:
    """Return a random predicate with at most `depth` levels of `AND`, `OR` and `NOT`.

    Spark accepts nearly all of these predicates.
    """
    if depth == 0 or rng.random() < 0.4:
        return _random_condition(rng, space)
    roll = rng.random()
    if roll < 0.2:
        return f"NOT ({random_predicate(rng, space, depth=depth - 1)})"
    word = " AND " if roll < 0.6 else " OR "
    count = rng.choice([2, 2, 3])
    operands = [random_predicate(rng, space, depth=depth - 1) for _ in range(count)]
    return word.join(f"({operand})" for operand in operands)


def _random_condition(rng: random.Random, space: Space) -> str:
    attribute = rng.choice(
        [a for a in space.columns if a.type.name != "struct" or rng.random() < 0.3]
    )
    if rng.random() < 0.07:
        possible = [
            make for reads, make in _DERIVED_CONDITIONS if all(c in space for c in reads.split())
        ]
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
        return _random_tag_condition(rng, attribute.name)
    if type_.is_vector:
        return _random_vector_condition(rng, attribute)
    if type_.name == "boolean":
        return _random_boolean_condition(rng, attribute.name)
    return _random_scalar_condition(rng, attribute)


def _random_scalar_condition(rng: random.Random, attribute: Attribute) -> str:
    name, type_ = attribute.name, attribute.type
    roll = rng.random()
    if roll < 0.5:
        literal = "NULL" if rng.random() < 0.03 else random_literal(rng, type_)
        op = rng.choice(["=", "<>", "!=", "==", "<", "<=", ">", ">=", "<=>"])
        return f"{literal} {op} {name}" if rng.random() < 0.2 else f"{name} {op} {literal}"
    if roll < 0.65:
        between = rng.choice(["BETWEEN", "NOT BETWEEN"])
        return f"{name} {between} {random_literal(rng, type_)} AND {random_literal(rng, type_)}"
    if roll < 0.85 or not type_.is_text:
        make = rng.choice(literal_writers(type_)) if rng.random() < 0.8 else None
        # For a decimal, NOT IN with eight doubles has more regions than a predicate may have.
        max_length = 4 if type_.name == "decimal" else 8
        values = [
            make(rng, type_) if make else random_literal(rng, type_)
            for _ in range(rng.choice([1, 2, 3, max_length]))
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
    return f"{rng.choice(['', 'NOT '])}startswith({name}, {random_text(rng)})"


_BOOLEAN_TESTS = (
    "= true;<> false;IS TRUE;IS NOT FALSE;<=> true;> false;IN (true);IN (true, false);= 'true';"
    "= 'no';IS UNKNOWN;IS NOT DISTINCT FROM false;= NULL"
)


def _random_boolean_condition(rng: random.Random, name: str) -> str:
    return rng.choice(
        [name, f"NOT {name}", f"NOT ({name} <=> false)"]
        + [f"{name} {test}" for test in _BOOLEAN_TESTS.split(";")]
    )


def _random_tag_condition(rng: random.Random, name: str) -> str:
    not_ = rng.choice(["", "NOT "])
    if rng.random() < 0.5:
        return f"{not_}array_contains({name}, {quote_string(rng.choice(TOKENS))})"
    tokens = [quote_string(rng.choice(TOKENS)) for _ in range(rng.choice([1, 2, 3]))]
    if rng.random() < 0.15:
        tokens.append("NULL")
    return f"{not_}arrays_overlap({name}, array({', '.join(tokens)}))"


def _random_vector_condition(rng: random.Random, attribute: Attribute) -> str:
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


# For each condition the columns that it reads, and a function that returns its text.
_DERIVED_CONDITIONS: Sequence[tuple[str, Callable[[random.Random], str]]] = [
    ("name", lambda rng: f"lower(name) {rng.choice(['=', '<', '>='])} {random_text(rng)}"),
    ("name", lambda rng: f"length(name) {rng.choice(['=', '<', '>='])} {rng.randrange(4)}"),
    ("f64", lambda rng: f"f64 / 2 {rng.choice(['<', '>'])} {rng.randrange(3)}"),
    ("i8 i16", lambda rng: "i8 > i16"),
    ("name ntz ts", lambda rng: "name LIKE '%b%' OR ntz < ts"),
    ("name", lambda rng: f"array_contains(split(name, 'b'), {random_text(rng)})"),
    ("day", lambda rng: f"year(day) {rng.choice(['=', '<', '>='])} 2020"),
    ("i8", lambda rng: "coalesce(i8, 3) = 3"),
    ("flag i8 i16", lambda rng: "CASE WHEN flag THEN i8 ELSE i16 END > 1"),
    ("d10", lambda rng: f"d10 * 2 > {rng.randrange(4)}"),
    ("i8", lambda rng: "i8 / 4 >= 0.25"),
    ("tags", lambda rng: "size(tags) > 1"),
    ("name", lambda rng: "name || 'x' = 'ax'"),
]
