"""Grammar of predicates: texts that Spark's grammar refuses, and the time to parse nested ones."""

from __future__ import annotations

import time
from contextlib import suppress

import pyarrow as pa
import pytest

from covey import Space
from covey.errors import PredicateError
from covey.language import Parser
from covey.language.semantics import must_be_attribute
from covey.language.syntax.ast_utils import strip_parentheses
from covey.language.syntax.grammar import parse_tree
from covey.space import PredicateLimits
from tests.language.late_types import Types

SPACE = Space.from_types(
    {
        "sym": pa.string(), "price": pa.float64(), "qty": pa.int32(), "day": pa.date32(),
        "ts": pa.timestamp("us", "UTC"), "xs": pa.list_(pa.int32()), "tags": pa.list_(pa.string()),
    }
)  # fmt: skip


def refusal(text: str) -> str | None:
    """Return the first line of the error with which a predicate is refused, None if it is not."""
    rejected = Parser(SPACE, types=Types()).parse([text]).rejected
    assert all(type(error) is PredicateError for error in rejected.values())
    return str(rejected[0]).split("\n")[0] if rejected else None


@pytest.mark.parametrize(
    "level",
    ["trim({})", "trim(BOTH {})", "trim(BOTH ({}))", "trim({} FROM sym)", "trim({} = sym)",
     "substring({}, 1)", "substring({} FROM 1 FOR 2)", "substring({} = sym)", "position({}, sym)",
     "position({} IN sym)", "position({})", "overlay({}, sym, 1)", "overlay({} PLACING sym FROM 1)",
     "array[{}]", "array(array[{}])", "struct({})", "struct<{}>", "f(x -> {})", "trim(array[{}])",
     "CAST({} AS INT)", "date({})", "CASE WHEN trim({}) THEN 1 END", "(SELECT {})", "(FROM {})",
     "NOT trim({})", "INTERVAL {} DAY", "f({} ORDER BY sym)", "[{}]"],
)  # fmt: skip
def test_nested_expressions_are_read_in_linear_time(level: str) -> None:
    """The time would double with each level if an operand were read twice."""
    text = "sym"
    for _ in range(30):
        text = level.format(text)
    start = time.process_time()
    with suppress(PredicateError):
        parse_tree(text, PredicateLimits())
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("trim(both FROM) = sym", "column 15: a value is missing after FROM"),
        ("position(sym IN) = 1", "column 16: a value is missing after IN"),
        ("overlay(sym PLACING) = sym", "column 20: a value is missing after PLACING"),
        ("overlay(sym PLACING 'a') = sym", "column 24: FROM is missing in OVERLAY"),
        ("substring(sym FROM) = 'a'", "column 19: a value is missing after FROM"),
        ("substring(sym FROM 1 FOR) = 'a'", "column 25: a value is missing after FOR"),
        ("extract(YEAR FROM) = 1", "column 18: a value is missing after FROM"),
        ("ts > ts + INTERVAL 1 YEAR TO > ts", "column 30: a unit of time is missing after TO"),
        ("ts > ts + INTERVAL 1 YEAR TO", "column 29: a unit of time is missing after TO"),
        ("trim(both) = 'a'", "column 6: no column 'both'"),
        ("trim(LEADING) = 'a'", "column 6: no column 'LEADING'"),
    ],
)
def test_a_missing_part_of_a_call_is_named(text: str, problem: str) -> None:
    assert problem in str(refusal(text))


def test_a_call_without_arguments_is_refused_without_a_failure() -> None:
    rejected = Parser(SPACE).parse(["trim() = 'a'", "substring() = 'a'"]).rejected
    assert [type(error) for error in rejected.values()] == [PredicateError] * 2


def test_a_column_may_have_the_name_of_a_side() -> None:
    space = Space.from_types({"both": pa.string()})
    parsed = Parser(space).parse(["trim(both) = 'a'", "trim(BOTH both FROM both) = 'a'"])
    names = [attribute.name for attribute in parsed.space.derived]
    assert names == ["trim(both)", "btrim(both, both)"]


@pytest.mark.parametrize(
    ("type_", "problem"),
    [
        ("INTERVAL DAY TO ", "a smaller unit is missing after DAY TO"),
        ("INTERVAL HOUR TO DAY", "a smaller unit is missing after HOUR TO"),
        ("INTERVAL DAYS", "DAYS is not allowed here"),
        ("", "a type is missing"),
        ("`int`", "a type is missing"),
        ("ARRAY", "ARRAY needs its types; write ARRAY<INT>"),
        ("ARRAY(INT)", "ARRAY needs its types"),
        ("ARRAY<INT, INT>", "this is not a type ARRAY"),
        ("MAP<INT>", "this is not a type MAP"),
        ("ARRAY<TEXT>", "Spark has no type TEXT"),
        ("STRUCT<a: BOOL>", "Spark has no type BOOL"),
        ("MAP<STRING, VARCHAR(3)>", "a CAST to a text of limited length"),
        ("ARRAY<STRING COLLATE UTF8_LCASE>", "this is not a type ARRAY"),
        ("STRING COLLATE UTF8_LCASE", "a CAST to a collation is outside the language"),
        ("INT[]", "[ is not allowed here"),
        ("INT UNSIGNED", "UNSIGNED is not allowed here"),
        ("TIMESTAMP WITH TIME ZONE", "WITH is not allowed here"),
        ("DECIMAL()", "the size of a type must be a whole number"),
        ("DECIMAL(3, 2, 1)", "DECIMAL takes at most two numbers"),
        ("DECIMAL(qty)", "the size of a type must be a whole number"),
    ],
)
def test_types_outside_of_the_grammar_of_spark_are_refused(type_: str, problem: str) -> None:
    assert problem in str(refusal(f"CAST(sym AS {type_}) IS NULL"))


@pytest.mark.parametrize(
    ("type_", "canonical"),
    [
        ("int", "INT"),
        ("DEC(5)", "DECIMAL(5,0)"),
        ("VOID", "VOID"),
        ("TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP_NTZ"),
        ("TIMESTAMP WITH LOCAL TIME ZONE", "TIMESTAMP"),
        ("INTERVAL DAY TO SECOND", "INTERVAL DAY TO SECOND"),
        ("INTERVAL", "INTERVAL"),
        ("MAP<STRING, ARRAY<REAL>>", "MAP<STRING, ARRAY<FLOAT>>"),
        ("STRUCT<`a b` INT, array: ARRAY<BYTE>>", "STRUCT<`a b`: INT, array: ARRAY<TINYINT>>"),
    ],
)
def test_types_have_their_canonical_text(type_: str, canonical: str) -> None:
    parsed = Parser(SPACE).parse([f"CAST(sym AS {type_}) IS NULL"])
    assert not parsed.rejected
    assert parsed.space.derived[0].name == f"CAST(sym AS {canonical}) IS NULL"


@pytest.mark.parametrize("name", ["array", "date", "int", "interval", "map", "struct", "timestamp"])
def test_a_column_may_have_the_name_of_a_type(name: str) -> None:
    space = Space.from_types({name: pa.list_(pa.int32())})
    assert not Parser(space).parse([f"{name}[0] = 1"]).rejected


@pytest.mark.parametrize("type_", ["INT", "STRING", "DECIMAL(3, 2)", "ARRAY<INT>"])
def test_only_some_types_have_literals(type_: str) -> None:
    assert refusal(f"{type_} '5' = qty") is not None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("xs[0, 1] = 1", "[ ] takes only one index"),
        ("xs[qty, 1] = 1", "[ ] takes only one index"),
        ("xs[] = 1", "an index is missing in [ ]"),
        ("xs[0][] = 1", "an index is missing in [ ]"),
        ("[1] = xs", "[ ] neither makes an array nor quotes a name"),
    ],
)
def test_brackets_take_one_index(text: str, problem: str) -> None:
    assert problem in str(refusal(text))
    assert refusal("xs[0] + xs[qty + 1] = 1") is None


@pytest.mark.parametrize(
    "unit", ["year(ts)", "`YEAR`", "'YEAR'", "(YEAR)", "YEARS", "sym", "ts.DAY"]
)
def test_a_unit_of_time_is_a_word(unit: str) -> None:
    message = "the first of three arguments of datediff must be a unit of time"
    assert f"column 10: {message}" in str(refusal(f"datediff({unit}, ts, ts) > 1"))


def test_a_unit_of_time_may_have_the_name_of_a_column() -> None:
    types = Types()
    texts = ["DATEDIFF(day, ts, ts) > 1", "datediff(day, ts) > 1", "dateadd(Day, qty, ts) > ts"]
    assert not Parser(SPACE, types=types).parse(texts).rejected
    assert set(types.asked) >= {"datediff(DAY, ts, ts)", "datediff(day, ts)"}


KEYWORDS = ["current_date", "CURRENT_TIMESTAMP", "current_user", "session_user"]


@pytest.mark.parametrize("word", KEYWORDS)
def test_a_column_hides_a_function_without_parentheses(word: str) -> None:
    space = Space.from_types({word.lower(): pa.int32(), "xs": pa.list_(pa.int32())})
    parsed = Parser(space).parse([f"{word} = 1", f"`{word}` = 1", f"abs({word}) = 1"])
    assert not parsed.rejected
    assert word.lower() in parsed.regions.constraints
    assert [attribute.name for attribute in parsed.space.derived] == [f"abs(`{word.lower()}`)"]


@pytest.mark.parametrize("word", KEYWORDS)
def test_a_variable_hides_a_column_and_a_function_without_parentheses(word: str) -> None:
    for name in (word.lower(), "x"):
        types = Types()
        space = Space.from_types({name: pa.int32(), "xs": pa.list_(pa.int32())})
        parsed = Parser(space, types=types).parse([f"exists(xs, {word} -> {word} > 1)"])
        assert not parsed.rejected
        assert types.asked == ["exists(xs, covey_v1 -> (covey_v1 > 1))"]


def test_a_function_without_parentheses_is_called_if_nothing_has_its_name() -> None:
    types = Types()
    texts = ["day = current_date", "ts > Current_Timestamp", "exists(xs, x -> x > current_date)"]
    assert not Parser(SPACE, types=types).parse(texts).rejected
    assert set(types.asked) == {
        "day = current_date()", "ts > current_timestamp()",
        "exists(xs, covey_v1 -> (covey_v1 > current_date()))",
    }  # fmt: skip
    assert "current_user() is not a function of the event" in str(refusal("sym = current_user"))


@pytest.mark.parametrize(
    "number", ["1e999D", "1e309", "1.7976931348623158e308", "1e39F", "300Y", "1e400BD", "9" * 39]
)
def test_numbers_out_of_range_are_refused_in_late_conditions(number: str) -> None:
    types = Types()
    texts = ["price / qty > 1.5D", f"price / qty > {number}", f"price / qty > -{number}"]
    rejected = Parser(SPACE, types=types).parse(texts).rejected
    assert sorted(rejected) == [1, 2]
    assert refusal(f"to_json({number}) = sym") is not None
    assert refusal("price / qty > 1e308D AND price / qty > -128Y") is None


@pytest.mark.parametrize(
    "template",
    [
        "levenshtein(sym, '{}', qty) < 3",
        "(sym || '{}') = (sym || 'a')",
        "NOT sym <> '{}'",
        "overlay(sym, '{}', 1) = sym",
        "trim(BOTH '{}' FROM sym) = sym",
        "trunc(day, '{}') = day",
    ],
)
def test_long_literals_are_read_in_linear_time(template: str) -> None:
    text = template.format("ab(), " * 170_000)
    start = time.process_time()
    refusal(text)
    assert time.process_time() - start < 1


def test_only_the_parentheses_around_a_whole_text_are_removed() -> None:
    texts = {"(a)": "a", "(a) + (b)": "(a) + (b)", "(1, 2) IN (a)": "(1, 2) IN (a)", "(": "(",
             "((a))": "(a)", "(a || ')')": "a || ')'", "": "", "(a": "(a", "a)": "a)",
             f"('{'(' * 1_000_000}' || a)": f"'{'(' * 1_000_000}' || a"}  # fmt: skip
    start = time.process_time()
    assert [strip_parentheses(text) for text in texts] == list(texts.values())
    assert time.process_time() - start < 1


def test_arguments_of_a_call_are_found_in_linear_time() -> None:
    start = time.process_time()
    long = "'" + "a(,)" * 250_000 + "'"
    assert must_be_attribute(f"trunc(day, concat({long}, unit))")
    assert must_be_attribute(f"levenshtein({long}, sym, qty)")
    assert not must_be_attribute(f"levenshtein({long}, sym, 3)")
    assert not must_be_attribute(f"trunc(day, {long})")
    assert must_be_attribute("trunc(day, `my unit`)")
    assert time.process_time() - start < 1


@pytest.mark.parametrize("value", ["'a'", "sym", "(NULL)", "NOT NOT NULL", "1"])
def test_only_constants_follow_is(value: str) -> None:
    for word in ("IS", "IS NOT"):
        message = str(refusal(f"lower(sym) {word} {value}"))
        assert "IS can be followed only by NULL, TRUE or FALSE" in message


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("price BETWEEN 1 2 AND qty BETWEEN 1 AND 2", "column 17: a literal is not allowed here"),
        ("qty NOT NULL AND price > 1", "column 5: NOT is not allowed here"),
        ("qty IS NULL = true", "column 13: it is not clear which operator comes first"),
        ("sym LIKE 'a' IS TRUE", "column 14: it is not clear which operator comes first"),
        ("qty = - NOT price", "it is not clear which operator comes first"),
        ("length(sym AS) = 1", "column 12: a condition cannot have an alias"),
        ("concat(sym, AS) = 'a'", "column 13: a condition cannot have an alias"),
        ("exists(xs, (x) -> x > 1)", "one variable is written without parentheses"),
        ("exists(xs, x ->)", "a value is missing after ->"),
        ("exists(xs, x -> x.X'1' > 1)", "a literal cannot be a name"),
        ("exists(xs, x -> x.'a' > 1)", "a literal cannot be a name"),
        ("CASE WHEN qty > 1 'a' END = sym", "column 19: a literal is not allowed here"),
        ("CASE WHEN qty > 1 THEN 'a' ELSE END = sym", "CASE has no END"),
        ("sym = IF qty > 1 THEN 'a' ELSE 'b' END", "is not allowed here"),
        ("() > 5", "a value is missing in ( )"),
        ("lower(sym) IN", "IN needs"),
        ("size(split(sym IN, ' ')) > 2", "IN needs"),
        ("pmod(ALL, 7) = 3", "column 6: ALL is not allowed here"),
        ("lower(sym) IS ! NULL", "column 15: ! is not allowed here; write NOT"),
        ("qty ! IN (1, qty)", "column 5: ! is not allowed here; write NOT"),
        ("lower(sym) NOT IS NULL", "column 12: NOT is not allowed here"),
        ("sym COLLATE 'a' = 'b'", "column 13: the name of a collation is missing"),
        ("sym COLLATE", "column 12: the name of a collation is missing"),
        ("xs[NOT qty] = 1", "it is not clear which operator comes first"),
    ],
)
def test_texts_that_spark_refuses_are_not_read_in_another_way(text: str, problem: str) -> None:
    assert problem in str(refusal(text))


def test_a_condition_in_parentheses_may_follow_when() -> None:
    types = Types()
    text = "CASE WHEN (qty > 1) THEN 'a' WHEN(qty) THEN 'b' END = sym"
    assert not Parser(SPACE, types=types).parse([text]).rejected
    assert types.asked == ["CASE WHEN (qty > 1) THEN 'a' WHEN qty THEN 'b' END = sym"]
