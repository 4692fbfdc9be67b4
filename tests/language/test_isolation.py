"""Texts are isolated: the cost of each is bounded, and a failure on one rejects only that one."""

from __future__ import annotations

import pickle
import time

import pyarrow as pa
import pytest

from covey import CompilerError, Parser, PredicateError, SessionSettings, Space, parse, render
from covey.errors import extract_worker_error
from covey.language import parser as parser_module
from covey.language.compile.dnf import CompiledTemplate, compile_template
from covey.language.values.literal_columns import KeyBounds, LiteralColumns

SPACE = Space.from_types(
    {
        "o": pa.bool_(), "i": pa.int32(), "l": pa.int64(), "b": pa.int8(), "t": pa.string(),
        "d": pa.float64(), "e": pa.decimal128(10, 2), "g": pa.decimal128(18, 0),
        "tags": pa.list_(pa.string()), "v": pa.list_(pa.float32()),
    },
    vectors={"v": 2},
)  # fmt: skip
_DEADLINE_S = 20.0  # for texts that once took minutes


def reject(text: str, space: Space = SPACE) -> PredicateError | None:
    """Return the error of a text, or None, and check that a text beside it is accepted."""
    started = time.thread_time()
    rejected = Parser(space).parse(["i = 1", text]).rejected
    assert time.thread_time() - started < _DEADLINE_S
    assert rejected.keys() <= {1}
    return rejected.get(1)


def nest(condition: str, depth: int) -> str:
    """Return nested ANDs and ORs."""
    text = "o"
    for level in range(depth):
        text = f"{condition} {'AND' if level % 2 else 'OR'} ({text})"
    return text


@pytest.mark.parametrize("condition", ["o", "i = 1", "1 / i > 1", "NOT o", "t NOT LIKE 'a'"])
def test_nested_connectives_are_parsed_in_linear_time(condition: str) -> None:
    assert reject(nest(condition, 28)) is None


def test_negated_nested_connectives_are_parsed_in_linear_time() -> None:
    text = "o"
    for level in range(24):
        text = f"NOT (o {'AND' if level % 2 else 'OR'} {text})"
    assert reject(text) is None


def test_repeated_exclusions_equal_an_exclusion_list() -> None:
    values = range(5, 45, 3)
    one_by_one = " AND ".join(f"i <> {value}" for value in values)
    listed = f"i NOT IN ({', '.join(map(str, values))})"
    texts = [one_by_one, f"({one_by_one}) OR i IS NULL AND NOT o", listed]
    regions = parse(SPACE, texts).regions
    assert render(regions, 0) == render(regions, 1) == render(regions, len(regions) - 1)


@pytest.mark.parametrize(
    "text",
    [
        f"l IN ({', '.join(f'9.{n:04d}e18' for n in range(5_000))})",
        f"l NOT IN ({', '.join(f'9.{n:04d}e18' for n in range(5_000))})",
        f"g IN ({', '.join(f'9.{n:04d}e17' for n in range(5_000))})",
        " AND ".join(f"l <> 9.{n}e18" for n in range(250)),
        " OR ".join(f"l = 9.{n}e18" for n in range(250)),
    ],
)
def test_lists_with_more_keys_than_characters_are_refused(text: str) -> None:
    assert "after Spark's cast, too many values of the column equal this literal" in str(
        reject(text)
    )


@pytest.mark.parametrize(
    "text", ["l = 9.1e18", "l > 9.1e18", "l IN (1e3, 2.5e9)", "l <> 1e15", "g NOT IN (1e15)"]
)
def test_numbers_that_equal_few_keys_are_accepted(text: str) -> None:
    assert reject(text) is None


_ZEROS = "0" * 5_000


@pytest.mark.parametrize(
    "text",
    [
        f"i = '{_ZEROS}1'", f"l > '-{_ZEROS}1'", f"b IN ('1', '+{_ZEROS}1')",
        f"CAST(i AS DECIMAL({_ZEROS}5, 2)) > 1", f"t::DECIMAL({_ZEROS}5,2) > 1",
        "element_at(tags, '1e1000000') = 'a'", "split_part(t, ',', '1e1000000') = 'a'",
        "element_at(tags, '-1e-1000000') = 'a'", "element_at(tags, 'NaN') = 'a'",
    ],
)  # fmt: skip
def test_numbers_with_many_digits_are_accepted(text: str) -> None:
    assert reject(text) is None


@pytest.mark.parametrize(
    "text",
    [
        f"CAST(i AS DECIMAL({'9' * 5_000}, 2)) > 1", f"i = {_ZEROS}1", f"e = '{_ZEROS}1'",
        f"i = '{'9' * 5_000}'", f"CAST(format_string('%{'9' * 1_000_001}d', i) AS STRING) = 'a'",
        f"repeat(t, {'9' * 300}) = 'a'", f"t RLIKE '(ab){{{'9' * 4_000}}}'", "d = 1e-" + "9" * 30,
        "element_at(tags, '-2147483648.5') = 'a'",
    ],
)  # fmt: skip
def test_numbers_with_too_many_digits_are_refused(text: str) -> None:
    assert type(reject(text)) is PredicateError


@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize("inside", ["\\{0}", "{0}{0}", "\\{0} ({0}{0}", "-- \\{0}"])
def test_an_unclosed_quote_is_read_in_linear_time(quote: str, inside: str) -> None:
    body = inside.format(quote) * 20_000
    assert "characters besides its literals" in str(reject(f"i = 1 -- 2\nAND t = {quote}{body}"))
    assert reject(f"t = {quote}{body.replace(' (', '')}{quote}") is None
    short = inside.format(quote) * 10
    assert "quote" in str(reject(f"i = 5 AND t = {quote}{short}"))


@pytest.mark.parametrize("operator", [" + 1", " || 'a'", " - length(t)", "::STRING", " % 7"])
def test_nested_operators_are_bounded(operator: str) -> None:
    """The time of Spark's analyzer grows faster than the square of their number."""
    assert reject(f"t{operator * 20} > 5") is None or operator != " || 'a'"
    assert "nested too deeply" in str(reject(f"length(t){operator * 61} > 5"))
    assert "nested too deeply" in str(reject(f"({'- ' * 61} i) > 5"))
    assert "nested too deeply" in str(reject(f"if(o, {'NOT ' * 61} o, o)"))


def test_chains_of_conditions_are_not_bounded_like_operators() -> None:
    assert reject(" AND ".join(["i > 1"] * 200)) is None
    assert reject(f"if({' AND '.join(['i > 1'] * 100)}, o, NOT o)") is None


@pytest.mark.parametrize(
    "text",
    [
        "lower(t) > 5 OR lower(t) > 'a'", "lower(t) > 'a' OR lower(t) > 5",
        "lower(t) IN (5, 6) OR lower(t) = 'a'", "NOT (lower(t) > 5 AND lower(t) IN ('a', 'b'))",
    ],
)  # fmt: skip
def test_an_expression_may_be_compared_in_several_types(text: str) -> None:
    assert reject(text) is None


def test_a_compiler_failure_on_one_text_rejects_only_that_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compile_or_fail(text: str, *arguments: object) -> CompiledTemplate:
        if "7" in text:
            raise KeyError("lost")
        return compile_template(text, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(parser_module, "compile_template", compile_or_fail)
    texts = ["i = 1", "i IN (7) OR o", "l > 5 OR i = 1"]
    predicates = Parser(SPACE).parse(texts)
    assert predicates.predicate_rows.tolist() == [0, 2, 2]
    (error,) = predicates.rejected.values()
    assert isinstance(error, CompilerError)
    assert error.text == texts[1]
    assert "covey failed on this predicate: KeyError('lost'); this is a fault of covey" in str(
        error
    )
    with pytest.raises(CompilerError):
        parse(SPACE, texts)


def test_a_compiler_error_keeps_its_class_between_worker_and_driver() -> None:
    error = CompilerError.from_failure(KeyError("lost"), "price > 5")
    again = extract_worker_error(f"Traceback …\ncovey.errors.CompilerError: {error}\n")
    assert type(again) is type(pickle.loads(pickle.dumps(error))) is CompilerError
    assert isinstance(again, CompilerError)
    assert again.text == "price > 5"


@pytest.mark.parametrize("failure", [ValueError("x"), OverflowError(), RecursionError()])
def test_a_failure_on_a_literal_rejects_only_its_text(
    monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    find = LiteralColumns.find_key_bounds

    def find_or_fail(self: LiteralColumns, *arguments: object) -> KeyBounds:
        if any("13" in column for column in self.columns):
            raise failure
        return find(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(LiteralColumns, "find_key_bounds", find_or_fail)
    texts = [f"i = {n} AND l > 5" for n in range(20)] + ["l = 13 OR o", "prise > 5"]
    predicates = Parser(SPACE).parse(texts)
    assert sorted(set(range(22)) - set(predicates.predicate_rows.tolist())) == [13, 20, 21]
    assert {row: type(error) for row, error in predicates.rejected.items()} == {
        13: CompilerError, 20: CompilerError, 21: PredicateError,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("DATE '+10000-01-01'", "+10000-01-01"), ("DATE '-0044-03-15'", "-0044-03-15"),
        ("DATE '0000-01-01'", "0000-01-01"), ("DATE '5881580-07-11'", "+5881580-07-11"),
        ("TIMESTAMP '+10000-01-01 00:00:00Z'", "+10000-01-01 00:00:00"),
        ("TIMESTAMP '-290308-12-21 19:59:05.224192Z'", "-290308-12-21 19:59:05.224192"),
        ("TIMESTAMP_NTZ '-0044-03-15 10:20:00.120'", "-0044-03-15 10:20:00.12"),
        ("1e-7BD", "1E-7"), ("-0.00", "0.00"), ("1e3BD", "1000"), ("-5Y", "-5"),
    ],
)  # fmt: skip
def test_literals_in_lists_become_the_texts_of_spark_without_ansi(literal: str, text: str) -> None:
    space = Space.from_types({"t": pa.string()}, settings=SessionSettings(ansi=False))
    regions = parse(space, [f"t IN ({literal}, 'a')", f"t IN ('{text}', 'a')"]).regions
    assert render(regions, 0) == render(regions, 1)


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("t = -1::STRING", "CAST(-1 AS STRING)"),
        ("b = - 128::TINYINT", "CAST(-128 AS TINYINT)"),
        ("b = -128Y::TINYINT", "CAST(-128Y AS TINYINT)"),
        ("t = -1::INT::STRING", "CAST(CAST(-1 AS INT) AS STRING)"),
        ("i IN (-1::INT, i)", "CAST(-1 AS INT)"),
        ("-1::INT = i", "CAST(-1 AS INT)"),
        ("i = - -1::INT", "(- CAST(-1 AS INT))"),
        ("i = -(1)::INT", "(- CAST((1) AS INT))"),
        ("i = -CAST(1 AS INT)", "(- CAST(1 AS INT))"),
        ("i = -i::INT", "(- CAST(i AS INT))"),
        ("i = i -1::INT", "(i - CAST(1 AS INT))"),
    ],
)
def test_a_minus_before_a_number_belongs_to_the_number(text: str, expression: str) -> None:
    (attribute,) = [one for one in parse(SPACE, [text]).space.derived if not one.is_flag]
    assert expression in attribute.name


def test_a_typed_literal_before_a_cast_needs_parentheses() -> None:
    assert "it is ambiguous whether DATE or :: is applied" in str(
        reject("DATE '2020-01-01'::STRING <=> t")
    )
    assert reject("t = (DATE '2020-01-01')::STRING") is None


@pytest.mark.parametrize("text", ["t = +1::STRING", "i = + 1::INT", "i = 2 * +1::BIGINT"])
def test_a_plus_before_a_cast_is_refused(text: str) -> None:
    assert "this + has no value before it" in str(reject(text))
