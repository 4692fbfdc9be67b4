"""Admission of predicates: no nondeterministic, unbounded or unsupported expression is accepted."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from covey import Space
from covey.errors import SchemaError
from covey.language import Parser
from covey.language.semantics.expression_types import KnownTypes
from covey.language.semantics.row_functions import (
    CHECKED_ARGUMENTS,
    REFUSED_FUNCTIONS,
    ROW_FUNCTIONS,
    ArgumentKind,
)
from covey.space import PredicateLimits
from tests.language.late_types import Types

SPACE = Space.from_types(
    {
        "sym": pa.string(), "price": pa.float64(), "qty": pa.int32(), "d": pa.decimal128(38, 38),
        "tags": pa.list_(pa.string()), "ts": pa.timestamp("us", "UTC"),
    }
)  # fmt: skip


def refusal(text: str, **limits: object) -> str | None:
    """Return why a predicate is refused, None if it is not."""
    space = replace(SPACE, limits=PredicateLimits(**limits))  # type: ignore[arg-type]
    rejected = Parser(space).parse([text]).rejected
    return str(rejected[0]) if rejected else None


@pytest.mark.parametrize(
    "text",
    [
        "sym || rand() = 'a'", "sym LIKE uuid()", "tags[rand()] = 'a'",
        "CAST(uniform(1, 2) AS INT) = 1", "CAST(randstr(3) AS STRING) = sym",
        "CASE WHEN rand() > 0.5 THEN price ELSE 1 END > 5", "price IN (1, rand())",
        "price BETWEEN 1 AND rand()", "CAST(current_user AS STRING) = sym", "hash(uuid()) = 1",
        "CAST(window(ts, '1 hour') AS STRING) = 'x'", "CAST(explode(tags) AS STRING) = 'x'",
        "CAST(session_window(ts, '1 hour') AS STRING) = 'x'", "CAST(max(price) AS DOUBLE) > 1",
        "CAST(stack(2, 1, 2) AS INT) = qty", "CAST(json_tuple(sym, 'a') AS STRING) = 'x'",
        "CAST(monotonically_increasing_id() AS BIGINT) > qty", "`rand`() > price",
        "CAST(reflect('java.lang.System', 'setProperty', 'a', sym) AS STRING) IS NULL",
        "CAST(java_method('java.lang.System', 'exit', 1) AS STRING) = sym",
        "CAST(try_reflect('java.lang.System', 'getenv') AS STRING) = sym",
        "`reflect`('java.lang.Runtime', 'getRuntime') = sym", "spark_partition_id() = qty",
    ],
)  # fmt: skip
def test_only_row_functions_are_admitted_at_any_position(text: str) -> None:
    assert refusal(text) is not None


def test_every_other_function_of_spark_is_refused_with_a_reason() -> None:
    for reason, names in REFUSED_FUNCTIONS.items():
        for name in names.split():
            assert name not in ROW_FUNCTIONS
            message = refusal(f"CAST(`{name}`(price) AS DOUBLE) > 5")
            assert message is not None
            assert f"{name}() {reason}" in message


def test_user_defined_functions_must_be_listed() -> None:
    text = "CAST(risk_of(price) AS DOUBLE) > 5"
    assert "no function 'risk_of' is known" in str(refusal(text))
    assert refusal(text, functions=("risk_of",)) is None
    assert "'rand'" not in str(refusal("CAST(rand(price) AS DOUBLE) > 5", functions=("risk_of",)))


def test_a_quoted_function_name_means_the_same_function() -> None:
    parsed = Parser(SPACE).parse(["`LOWER`(sym) = 'a'", "lower(sym) = 'a'"])
    assert not parsed.rejected
    assert [attribute.name for attribute in parsed.space.derived] == ["lower(sym)"]


@pytest.mark.parametrize(
    "text",
    [
        "CAST(sym AS STRING COLLATE UTF8_LCASE) = 'a'", "sym COLLATE UTF8_LCASE = 'a'",
        "CAST(price AS INT FORMAT 'x') = 1", "sym = 'a' COLLATE UTF8_LCASE", "price ^ 2 > 1",
        "CAST(max(DISTINCT price) AS INT) = 1", "count(price) FILTER (WHERE qty > 1) = 1",
        "lower(sym => 'a') = 'a'", "ts AT TIME ZONE 'UTC' > ts", "~qty = 1",
    ],
)  # fmt: skip
def test_unsupported_syntax_is_refused_and_not_ignored(text: str) -> None:
    assert refusal(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "length(repeat(sym, 2000000000)) > 5", "space(2147483647) = sym",
        "length(lpad(sym, 2000000000, 'x')) > 5", "size(array_repeat(sym, 1000000)) > 5",
        "length(repeat(sym, qty)) > 5", "size(CAST(sequence(1, qty) AS ARRAY<STRING>)) > 5",
        "length(repeat(repeat(sym, 9999), 9999)) > 5", "length(repeat('x', 10001)) > qty",
        f"length({'hex(' * 40}sym{')' * 40}) > 5",
        f"length(replace(replace(sym, 'a', '{'a' * 900}'), 'a', '{'a' * 900}')) > 5",
        f"length(regexp_replace(regexp_replace(sym, 'a', '{'a' * 900}'), 'a', '{'a' * 900}')) > 5",
        "size(array_insert(array(qty), 1000000000, 1)) > 5", "round(price, 1000000000) = 1",
        "format_string('%999999999d', qty) = 'x'", "printf('%1$999999s', sym) = 'x'",
        "repeat(sym, 1000) LIKE '%a%b'", "repeat(sym, 1000) RLIKE '.*x'",
        "levenshtein(repeat(sym, 1000), sym) = 0", "regexp_count(repeat(sym, 1000), '.*x') = 1",
        "format_string(sym, qty) = 'x'", f"length(repeat('{'a' * 60_000}', 10000)) > qty",
        f"length(repeat(concat({'sym, ' * 30}sym), 1000)) > 5",
        f"length(repeat({'sym || ' * 30}sym, 1000)) > 5",
        f"length(format_string('{'%1$s' * 200}', repeat(sym, 100))) > 5",
    ],
)  # fmt: skip
def test_results_longer_than_the_limit_are_refused(text: str) -> None:
    assert refusal(text) is not None


@pytest.mark.parametrize(
    "call",
    ["element_at(tags, {})", "try_element_at(tags, {})", "split_part(sym, ',', {})"],
)
@pytest.mark.parametrize(
    ("position", "is_admitted"),
    [
        ("1", True), ("-1", True), ("NULL", True), ("2147483647", True), ("'k'", True),
        ("qty", False), ("qty + 1", False), ("-2147483648", False), ("'-2147483648'", False),
        ("CAST(sym AS INT)", False), ("-2147483648.5", False), ("sym", False),
    ],
)  # fmt: skip
def test_positions_that_crash_spark_are_refused(
    call: str, position: str, is_admitted: bool
) -> None:
    """At the smallest int, `element_at` and functions that use it read outside of the array."""
    problem = refusal(f"CAST({call.format(position)} AS STRING) = 'x'")
    is_refused = problem is not None and "must be a literal" in problem
    assert is_refused is not is_admitted


@pytest.mark.parametrize("call", ["right({}, 3)", "nvl({}, 'a')"])
def test_nested_calls_that_spark_expands_are_bounded(call: str) -> None:
    """Spark expands such a call with several copies of its argument, and nested calls again."""
    text = "sym"
    for _ in range(8):
        text = call.format(text)
        assert refusal(f"{text} = 'x'") is None
    for _ in range(8):
        text = call.format(text)
    assert "calls of functions are nested too deeply" in str(refusal(f"{text} = 'x'"))


def test_long_sums_are_read_in_linear_time() -> None:
    """Reading both sides of each minus twice would double the time per minus."""
    assert refusal("qty" + " - 1" * 60 + " = 1") is None


@pytest.mark.parametrize(
    "type_",
    ["BOOL", "INT8", "NUMBER", "TEXT", "GEOGRAPHY", "INT(3)", "DOUBLE PRECISION", "TIMESTAMPTZ",
     "STRING(3)", "DECIMAL(3, -1)"],
)  # fmt: skip
def test_types_that_spark_does_not_have_are_refused(type_: str) -> None:
    assert refusal(f"CAST(sym AS {type_}) IS NULL") is not None
    assert refusal(f"sym::{type_} IS NULL") is not None


@pytest.mark.parametrize(
    ("type_", "problem"),
    [
        ("uuid", "Spark has no type uuid; name a type of Spark, such as STRING"),
        ("geometry", "geometry needs an SRID"),
        ("string(3)", "Spark has no type string(…)"),
        ("varchar", "varchar needs a length; CAST to string"),
        ("CHAR", "CHAR needs a length; CAST to string"),
        ("character", "character needs a length; CAST to string"),
        ("character (3)", "a CAST to a text of limited length is outside the language"),
        ("geography(4326)", "a CAST to geography is outside the language"),
        ("GEOMETRY(0)", "a CAST to geometry is outside the language"),
    ],
)
def test_a_refusal_says_what_is_wrong_with_a_type(type_: str, problem: str) -> None:
    assert f": {problem}" in str(refusal(f"CAST(sym AS {type_}) IS NULL"))
    assert f": {problem}" in str(refusal(f"sym::{type_} IS NULL"))


def test_names_that_differ_only_in_case_are_ambiguous() -> None:
    number, pair = pa.int64(), pa.struct([("id", pa.int64()), ("ID", pa.int64())])
    parser = Parser(Space.from_types({"a": number, "A": number, "both": pair}))
    rejected = parser.parse(["a = 1", "both.id = 1", "both.Id = 1", "both.no = 1"]).rejected
    case = "Spark does not distinguish upper and lower case"
    reason = f": {case}; rename all but one of them in the events"
    assert [str(rejected[row]).splitlines()[0].partition(": ")[2] for row in range(4)] == [
        f"'a' could be any of the columns a, A{reason}",
        f"'id' could be any of the fields id, ID of both{reason}",
        f"'Id' could be any of the fields id, ID of both{reason}",
        "both has no field 'no'; its fields are id, ID",
    ]


@pytest.mark.parametrize("unit", ["ARRAY<", "array <", "STRUCT<a: ", "MAP<INT, "])
def test_nested_types_are_bounded(unit: str) -> None:
    for depth in (17, 100, 300):
        text = f"CAST(tags AS {unit * depth}INT{'>' * depth}) IS NULL"
        assert "nested too deeply; CAST to a simpler type" in str(refusal(text))
    assert refusal(f"size(CAST(tags AS {'ARRAY<' * 3}INT{'>' * 3})) > 1 AND {'price > 1 AND ' * 20}"
                   "price < 1") is None  # fmt: skip


def test_expressions_too_deep_for_the_parser_are_refused() -> None:
    texts = [f"{'sym || ' * n}sym = 'x'" for n in (50, 100, 550, 580)]
    rejected = Parser(SPACE).parse(texts).rejected
    assert rejected.keys() == {1, 2, 3}
    assert all("nested too deeply" in str(error) for error in rejected.values())


def test_sizes_within_the_limit_are_admitted() -> None:
    assert refusal("length(repeat(sym, 10000)) > 5") is None
    assert refusal("length(lpad(sym, 10, 'x')) > 5") is None
    assert refusal("length(repeat(sym, 10001)) > 5", max_growth=20_000) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sym RLIKE '(a+)+$'", "a repetition is inside a repetition"),
        ("regexp_like(sym, '(a|b)*c')", "a part is repeated too often"),
        ("sym RLIKE '(.)*x'", "a part is repeated too often"),
        ("sym RLIKE '(a|a){40}b'", "there are too many choices"),
        (f"sym RLIKE '{'a?' * 40}{'a' * 40}'", "there are too many choices"),
        ("sym RLIKE '.*.*.*x'", "several repetitions can match the same text"),
        ("sym RLIKE '[\\\\Q]\\\\E](a+)+'", "a repetition is inside a repetition"),
        ("sym RLIKE '[a[b]](c+)+'", "it has a class inside a class"),
        ("sym LIKE '%a%b%c%d%'", "more than 2 wildcards % before its end"),
        ("sym NOT ILIKE '%a%b%c%d%'", "more than 2 wildcards % before its end"),
        ("sym LIKE concat(sym, '%')", "a pattern that is not a literal"),
        (
            "regexp_extract(sym, '(.)\\\\1', 1) = 'a'",
            "this pattern cannot be checked: it has a reference to a group",
        ),
        ("sym RLIKE r'(.)\\1'", "this pattern cannot be checked: it has a reference to a group"),
        ("sym NOT RLIKE '(?x)(a+) +'", "this pattern cannot be checked: it has the flag x"),
        ("sym RLIKE concat('(a+', ')+')", "a pattern that is not a literal"),
        ("sym RLIKE sym", "a pattern that is not a literal"),
        ("sym RLIKE '(a+' ')+'", "a repetition is inside a repetition"),
        ("split(sym, '(a+)+')[0] = 'a'", "a repetition is inside a repetition"),
        ("sym RLIKE '(a'", "this pattern is not valid: a group has no closing ); correct it"),
        ("sym RLIKE '[a'", "this pattern is not valid: a character class has no closing ]"),
        (f"sym RLIKE '{'a' * 5000}'", "this pattern has 5,000 characters, but at most 4,096"),
    ],
)
def test_patterns_with_unbounded_time_are_refused_unless_allowed(text: str, problem: str) -> None:
    assert problem in str(refusal(text))
    assert refusal(text, any_regex=True) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("parse_url(sym, 'QUERY', '(a|b)*') = 'x'", "a part is repeated too often"),
        ("parse_url(sym, 'QUERY', '(a+)+') = 'x'", "a repetition is inside a repetition"),
        ("try_parse_url(sym, 'QUERY', '(a|b)*') = 'x'", "a part is repeated too often"),
        ("parse_url(sym, 'QUERY', 'a|(.*.*b)') = 'x'", "repetitions can match the same text"),
        ("parse_url(sym, 'QUERY', sym) = 'x'", "a pattern that is not a literal"),
        ("parse_url(sym, 'QUERY', 'q') = 'x'", None),
        ("parse_url(sym, 'HOST') = 'x'", None),
        (f"date_format(ts, '{'[' * 30}y{']' * 30}') = 'x'", "at most 16 nested brackets"),
        (f"date_format(ts, '{'[' * 17}') = 'x'", "at most 16 nested brackets"),
        (f"to_char(ts, '{'[' * 17}') = 'x'", "at most 16 nested brackets"),
        (f"to_date(sym, '{'y' * 201}') > ts", "at most 200 characters"),
        ("CAST(to_timestamp(sym, sym) AS TIMESTAMP) > ts", "the format of to_timestamp must be"),
        ("CAST(unix_timestamp(sym, sym) AS BIGINT) > 5", "the format of unix_timestamp must be"),
        ("date_format(ts, lower('Y')) = 'x'", "the format of date_format must be a literal"),
        ("date_format(ts, '[HH:mm][ss]') = 'x'", None),
        ("date_format(ts, NULL) = 'x'", None),
        ("from_unixtime(qty) = 'x'", None),
        ("to_char(price, '999.99') = 'x'", None),
        ("CAST(to_number(sym, sym) AS DOUBLE) > 5", "the number format of to_number must be"),
        ("size(CAST(sentences(sym, sym, 'US') AS ARRAY<STRING>)) > 1", "the language of sentences"),
        (f"from_json(sym, 'a {'ARRAY<' * 350}INT{'>' * 350}') IS NULL", "nested brackets"),
        (f"from_csv(sym, 'a {'STRUCT<a:' * 17}INT{'>' * 17}') IS NULL", "nested brackets"),
        (f"variant_get(parse_json(sym), '$', '{'ARRAY<' * 17}INT') IS NULL", "nested brackets"),
        (f"from_json(sym, 'a INT{', a INT' * 900}') IS NULL", "at most 4,000 characters"),
        ("from_json(sym, sym) IS NULL", "the schema of from_json must be a literal"),
        (f"from_json(sym, schema_of_json('{'[' * 17}')) IS NULL", "nested brackets"),
        (f"from_xml(sym, schema_of_xml('{'<a>' * 101}')) IS NULL", "at most 100 tags"),
        ("schema_of_json(sym) = 'x'", "the sample of schema_of_json must be a literal"),
        ("CAST(from_json(sym, 'a STRUCT<b: ARRAY<INT>>') AS STRING) = 'x'", None),
        ("CAST(from_json(sym, schema_of_json('{\"a\": [1]}')) AS STRING) = 'x'", None),
        (f"get_json_object(sym, '${'.a' * 61}') = 'x'", "at most 60 steps"),
        (f"get_json_object(sym, '${'[*]' * 61}') = 'x'", "at most 60 steps"),
        (f"variant_get(parse_json(sym), '${'[0]' * 61}', 'INT') = 1", "at most 60 steps"),
        ("get_json_object(sym, sym) = 'x'", "the path of get_json_object must be a literal"),
        ("get_json_object(sym, '$.a[0].b') = 'x'", None),
    ],
)  # fmt: skip
def test_formats_schemas_and_paths_must_be_short_literals(text: str, problem: str | None) -> None:
    rejected = Parser(SPACE, types=KnownTypes({})).parse([text]).rejected  # Spark is queried later
    if problem is None:
        assert not rejected
    else:
        assert problem in str(rejected[0])


def test_every_checked_argument_belongs_to_a_row_function() -> None:
    assert CHECKED_ARGUMENTS.keys() <= ROW_FUNCTIONS
    assert {kind for places in CHECKED_ARGUMENTS.values() for kind in places.values()} == {
        *ArgumentKind
    }


@pytest.mark.parametrize(
    "pattern", [r"^(\\d{1,3}\\.){3}\\d{1,3}$", "(?i)iphone 1[2-5]", "^[0-9]+$"]
)
def test_common_patterns_are_admitted(pattern: str) -> None:
    assert refusal(f"sym RLIKE '{pattern}'") is None


def test_length_and_depth_are_limited_before_parsing() -> None:
    assert "4,096 characters besides its literals" in str(
        refusal("price > 5 AND " * 400 + "qty = 1")
    )
    assert refusal("price > 5 AND " * 400 + "qty = 1", max_template=10_000) is None
    assert "may have at most 100 characters" in str(
        refusal(f"sym = '{'a' * 200}'", max_characters=100)
    )
    assert "nested too deeply" in str(refusal("((price > 5))", max_depth=1))
    assert refusal("((price > 5))", max_depth=2) is None
    with pytest.raises(SchemaError, match="max_template must be at least 1, got 0"):
        PredicateLimits(max_template=0)
    with pytest.raises(SchemaError, match="functions must be a list of strings"):
        PredicateLimits(functions="risk_of")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "/*" * 32_000, "/*" * 16_000 + "*/" * 15_999, "qty IN (" + " " * 64_000 + "x)",
        "qty IN (1," + " " * 64_000 + "x)", "qty IN (+" + " " * 64_000 + "x)", "(" * 64_000,
        "price > 5 AND " * 4_600, "--\n" * 21_000, "'" * 64_001, "`" * 64_001,
    ],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_long_texts_are_refused_in_linear_time(text: str) -> None:
    """A scan of the rest of the text at every character would take minutes."""
    assert refusal(text) is not None


@pytest.mark.parametrize(
    ("start", "is_admitted"),
    [("0", True), ("(0)", True), ("-1", True), ("'a'", False), ("('a')", False), ("tags", False)],
)
def test_only_values_of_fixed_size_are_accumulated(start: str, is_admitted: bool) -> None:
    text = f"CAST(aggregate(tags, {start}, (a, e) -> a || a) AS STRING) = 'x'"
    assert (refusal(text) is None or "must begin with" not in str(refusal(text))) == is_admitted


@pytest.mark.parametrize(
    ("text", "is_admitted"),
    [
        ("exists(tags, t -> t = 'a')", True),
        ("exists(tags, t -> exists(tags, u -> t = u))", True),
        ("exists(filter(tags, t -> t > 'a'), t -> t RLIKE 'b')", True),
        ("size(transform(tags, t -> concat(t, sym))) > 3", True),
        ("array_join(transform(split(repeat(sym, 9), ':'), t -> lpad(t, 4, '0')), '') > 'a'", True),
        ("size(transform(tags, t -> repeat(sym, 100))) > 3", False),
        ("exists(tags, t -> exists(tags, u -> exists(tags, v -> t = u AND u = v)))", False),
        ("size(flatten(transform(flatten(transform(tags, t -> tags)), t -> tags))) > 3", False),
    ],
)
def test_the_work_of_nested_lambda_functions_is_limited(text: str, is_admitted: bool) -> None:
    rejected = Parser(SPACE, types=Types()).parse([text]).rejected
    assert ("larger than the arguments" in str(rejected)) != is_admitted


@pytest.mark.parametrize(
    "literal", ["DATE 'today'", "TIMESTAMP 'now'", "DATE 'tomorrow UTC'", "DATE '2024-02-30'"]
)
def test_literals_of_times_are_checked_at_any_position(literal: str) -> None:
    for text in (f"ts > {literal}", f"datediff(ts, {literal}) > 3", f"hash({literal}) = qty"):
        rejected = Parser(SPACE, types=Types()).parse([text, text]).rejected
        assert "changes every day" in str(rejected[1]) or "2024-02-30" in str(rejected[1])


def test_literals_of_other_types_are_refused() -> None:
    assert "a literal is not allowed here" in str(refusal("qty > INT '5'"))
    assert refusal("ts > TIMESTAMP '2024-05-31 10:00:00'") is None
