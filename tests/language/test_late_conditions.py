"""Late conditions in the language: templates and parameters in place of derived attributes."""

from __future__ import annotations

import string
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import SessionSettings, Space, render
from covey.geometry.relations import covers
from covey.language import Parser, Predicates
from covey.language.late_conditions import LateCondition, find_names
from covey.language.semantics import KnownTypes, facts_of_attributes, split_expression
from covey.space.space import LATE, Attribute
from covey.space.types import BOOLEAN
from tests.language.late_types import Types

SPACE = Space.from_types(
    {"name": pa.string(), "price": pa.float64(), "area": pa.float64(), "qty": pa.int32()}
)
CONDITION = "levenshtein(name, 'ana') < 3"


def parse_late(*texts: str, types: Types | None = None) -> Predicates:
    parsed = Parser(SPACE, types=types or Types()).parse(texts)
    assert not parsed.rejected
    assert not parsed.missing_types
    return parsed


def conditions_of(predicates: Predicates, region: int = 0) -> set[LateCondition]:
    """Return the late conditions of a region."""
    constraints = predicates.regions.constraints.get(LATE)
    if constraints is None:
        return set()
    rows, is_late = constraints.locate_rows(np.array([region]))
    if not is_late[0]:
        return set()
    groups = constraints.batch.row(int(rows[0])).groups  # type: ignore[union-attr]
    return {LateCondition.from_token(token) for group in groups for token in group}


TEXTS = st.text(st.sampled_from(string.printable + "é\U0001f600\0"), max_size=8)
VALUES = st.one_of(TEXTS, st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))


@given(st.lists(VALUES, max_size=3))
def test_a_condition_is_restored_from_its_token(values: list[str | int | float]) -> None:
    condition = LateCondition("f(\0s)", tuple(values))
    assert LateCondition.from_token(condition.token) == condition


def test_parameters_are_written_as_literals() -> None:
    condition = LateCondition("f(\0s, \0i, \0l, \0d) RLIKE '?'", ("it's", 5, 1 << 40, 1.5))
    assert condition.sql == f"f('it\\'s', 5, {1 << 40}L, 1.5D) RLIKE '?'"


@pytest.mark.parametrize(
    ("text", "template", "literals"),
    [
        ("f(x, 'a', 5)", "f(x, \0s, \0i)", ("'a'", "5")),
        ("x * 1.5 + 2D", "x * \0m + \0d", ("1.5", "2D")),
        ("x + 3000000000", "x + \0l", ("3000000000",)),
        ("x IN (1,-2)", "x IN (\0i, \0i)", ("1", "-2")),
        ("x IN (1.5, 'a', 2L)", "x IN (\0m, \0s, \0x)", ("1.5", "'a'", "2L")),
        (f"x IN ({'1, ' * 32}1)", "x IN \0x", (f"({'1, ' * 32}1)",)),
        ("x RLIKE r'a.b'", "x RLIKE r\0x", ("'a.b'",)),
        ("x + 5BD + 7S", "x + \0x + \0x", ("5BD", "7S")),
        ("`a'b` = 'c'", "`a'b` = \0s", ("'c'",)),
    ],
)
def test_an_expression_is_split_into_template_and_literals(
    text: str, template: str, literals: tuple[str, ...]
) -> None:
    assert split_expression(text) == (template, literals)


def test_a_condition_on_a_rare_expression_is_late() -> None:
    parsed = parse_late(f"{CONDITION} AND qty > 5", "qty > 5")
    template = "levenshtein(name, \0s) < \0i"
    assert conditions_of(parsed) == {LateCondition(template, ("ana", 3))}
    assert conditions_of(parsed, 1) == set()
    assert [(a.name, a.is_late) for a in parsed.space.derived] == [(template, True)]
    assert template not in [attribute.name for attribute in parsed.space]


def test_texts_with_other_literals_share_a_template_and_a_question() -> None:
    types = Types()
    texts = [f"levenshtein(name, 'n{i}') < {i % 5}" for i in range(50)]
    parsed = parse_late(*texts, types=types)
    assert len(parsed.space.derived) == 1
    assert len({next(iter(conditions_of(parsed, i))).token for i in range(50)}) == 50
    found = facts_of_attributes(parsed.space.derived)
    assert found["levenshtein(name, \0s) < \0i"].fixed == ()


def test_a_chosen_expression_is_an_attribute_and_only_with_its_literals() -> None:
    types = Types("levenshtein(name, 'ana')")
    parsed = parse_late(CONDITION, "levenshtein(name, 'bob') < 3", CONDITION, types=types)
    assert "levenshtein(name, 'ana')" in parsed.regions.constraints
    assert [bool(conditions_of(parsed, i)) for i in range(3)] == [False, True, False]


def test_a_chosen_condition_is_an_attribute_although_its_operand_is_none() -> None:
    parsed = parse_late(CONDITION, f"NOT ({CONDITION})", types=Types(CONDITION))
    assert CONDITION in parsed.regions.constraints
    assert LATE not in parsed.regions.constraints


def test_a_literal_that_cannot_be_a_parameter_stays_in_the_template() -> None:
    types = Types(fixed={"name RLIKE \0s": (0,)})
    parsed = parse_late("name RLIKE 'a+'", "name RLIKE 'b+'", types=types)
    assert conditions_of(parsed) == {LateCondition("name RLIKE 'a+'")}
    assert len(parsed.space.derived) == 2
    assert set(types.asked) == {"name RLIKE 'a+'", "name RLIKE 'b+'"}


def test_the_negation_of_a_late_condition_is_late() -> None:
    parsed = parse_late(f"NOT ({CONDITION} OR qty = 3)")
    assert conditions_of(parsed) == {
        LateCondition("NOT (levenshtein(name, \0s) < \0i)", ("ana", 3))
    }


def test_what_follows_a_condition_that_may_raise_needs_its_computability() -> None:
    parsed = parse_late("price / area > 2.5 OR qty = 3")
    texts = [{condition.sql for condition in conditions_of(parsed, region)} for region in range(2)]
    assert {"(price / area) > 2.5D"} in texts
    assert any("try_to_binary" in text for found in texts for text in found)


def test_equal_conditions_cover_each_other_and_no_others() -> None:
    texts = [CONDITION, CONDITION + " AND qty > 3", "levenshtein(name, 'ana') < 4", "qty > 3"]
    regions = parse_late(*texts).regions
    outer, inner = np.divmod(np.arange(16), 4)
    found = {(int(a), int(b)) for a, b in zip(outer, inner, strict=True)}
    is_cover = covers(regions, outer, regions, inner)
    found = {pair for pair, holds in zip(sorted(found), is_cover, strict=True) if holds}
    assert found == {(0, 0), (1, 1), (2, 2), (3, 3), (0, 1), (3, 1)}


def test_a_late_condition_is_rendered_as_it_is_evaluated() -> None:
    assert render(parse_late(f"{CONDITION} AND qty = 5").regions, 0) in (
        "levenshtein(name, 'ana') < 3 AND qty = 5",
        "qty = 5 AND levenshtein(name, 'ana') < 3",
    )


def test_predicates_that_spark_has_analysed_are_read_again_without_it() -> None:
    texts = [CONDITION, "price / area > 2.5", "price * 2 > 7.5 AND qty < 3", "length(name) < 5"]
    parsed = parse_late(*texts, types=Types("price * 2", "length(name)"))
    types = KnownTypes.from_attributes(parsed.space.derived)
    again = Parser(SPACE, types=types).parse(texts)
    assert not again.rejected
    assert not again.missing_types
    for row in range(len(texts)):
        assert render(again.regions, row) == render(parsed.regions, row)


def test_an_attribute_may_have_the_name_of_a_template() -> None:
    negated = f"NOT ({CONDITION})"
    types = Types(CONDITION, fixed={"levenshtein(name, \0s) < \0i": (0, 1)})
    parsed = parse_late(CONDITION, f"{negated} AND qty = 1", f"({negated}) <=> true", types=types)
    space = Space.from_types({"name": pa.string()})
    template = Attribute(negated, BOOLEAN, is_derived=True, is_late=True)
    derived = Attribute(negated, BOOLEAN, is_derived=True)
    both = space.with_derived(template, derived, template)
    assert both.derived == (template, derived)
    assert both[negated] == derived
    assert list(both) == [*space.columns, derived]
    assert len(parsed.regions) == 3


def test_the_slots_of_parameters_follow_the_text() -> None:
    for template in ("price + {} IN ({}, qty) AND name > 'a'", "price * {} BETWEEN {} AND qty"):
        texts = [template.format(1, 1), template.format(5, 7)]
        parsed = parse_late(*texts)
        sql = [next(iter(conditions_of(parsed, row))).sql for row in range(2)]
        assert "5" in sql[1].partition("7")[0]
        assert conditions_of(parse_late(texts[1])) == conditions_of(parsed, 1)


def test_literals_that_resemble_samples_stay_literals() -> None:
    types = Types(fixed={"levenshtein(name, \0s) < \0i": (0,)})
    texts = ["levenshtein(name, '1357900000') < 3", "levenshtein(name, '\ue000\ue001') < 3"]
    parsed = parse_late(*texts, types=types)
    facts = facts_of_attributes(parsed.space.derived)["levenshtein(name, \0s) < \0i"]
    assert facts.fixed == (0,)
    assert set(facts.results) == {("'1357900000'",), ("'\ue000\ue001'",)}


def test_templates_say_which_literals_of_an_attribute_are_fixed() -> None:
    parsed = parse_late(CONDITION, "levenshtein(name, 'x') < 5", types=Types(CONDITION))
    facts = facts_of_attributes(parsed.space.derived)["levenshtein(name, \0s) < \0i"]
    assert facts.fixed == ()
    assert facts.attributes == {("'ana'", "3")}


def test_a_nul_is_accepted_in_parameters_only() -> None:
    found = conditions_of(parse_late("levenshtein(name, 'a\0s') < 3"))
    assert found == {LateCondition("levenshtein(name, \0s) < \0i", ("a\0s", 3))}
    types = Types(fixed={"levenshtein(name, \0s) < \0i": (0, 1)})
    rejected = Parser(SPACE, types=types).parse(["levenshtein(name, 'a\0s') < 3"]).rejected
    assert "NUL" in rejected[0].problem
    derived = parse_late("length('\0s') = 3", types=Types("length('\0s')")).space.derived
    assert facts_of_attributes(derived)


def test_long_literals_are_part_of_the_template() -> None:
    parsed = parse_late(CONDITION, f"levenshtein(name, '{'x' * 2_000}') < 3")
    assert [
        len(condition.parameters) for row in (0, 1) for condition in conditions_of(parsed, row)
    ] == [2, 1]


def test_negative_numbers_are_parameters() -> None:
    parsed = parse_late("price * -2.5 < -3", "price * -7.5 < -4")
    assert len(parsed.space.derived) == 1
    assert {c.sql for c in conditions_of(parsed, 1)} == {"(price * -7.5D) < -4"}


@pytest.mark.parametrize(
    ("template", "names"),
    [
        ("f(a, \0s) < `b``c`.d", {"a", "b`c", "d"}),
        ("concat(a, 'x`b', `c`) = '`d'", {"a", "c"}),
        ("lower (a) = lower(`lower`)", {"lower", "a"}),
    ],
)
def test_names_of_a_template_exclude_functions_and_literals(template: str, names: set[str]) -> None:
    assert find_names(template) == names


def test_patterns_of_one_template_are_checked_one_by_one() -> None:
    risk = "%a%b%c%d%e%f%g%h%"
    for text in ("name ILIKE '{}'", "(name LIKE '{}') = true", "name LIKE '{}' ESCAPE '!'"):
        parser = Parser(SPACE, types=Types())
        rejected = parser.parse([text.format("a%"), text.format(risk), text.format("b%")]).rejected
        assert set(rejected) == {1}, text


def test_values_of_short_lists_are_parameters() -> None:
    texts = ["price * 2 IN (1, -2)", "price * 3 IN (-5,7)", "price * 3 IN (5, 7, 9)"]
    parsed = parse_late(*texts)
    assert len(parsed.space.derived) == 2
    assert [next(iter(conditions_of(parsed, row))).parameters for row in range(3)] == [
        (2, 1, -2), (3, -5, 7), (3, 5, 7, 9),
    ]  # fmt: skip
    names = parse_late("concat(name, 'a') IN ('b', \"it's\")", "concat(name, 'c') IN ('d', 'e')")
    assert next(iter(conditions_of(names))).sql == "concat(name, 'a') IN ('b', 'it\\'s')"


@pytest.mark.parametrize("attributes", [(), ("price / area",)])
def test_a_check_for_errors_is_rendered_in_the_language(attributes: tuple[str, ...]) -> None:
    parsed = parse_late("price / area > 2.5 OR qty = 3", types=Types(*attributes))
    texts = [render(parsed.regions, row) for row in range(2)]
    assert any("IS NULL OR" in text for text in texts)
    assert not Parser(SPACE, types=Types()).parse(texts).rejected


def test_a_raw_string_is_a_parameter_like_any_other_text() -> None:
    texts = [r"name RLIKE r'^\w+$'", r"name RLIKE '^\\w+$'", r"name RLIKE r'^a'"]
    types = Types()
    parsed = parse_late(*texts, types=types)
    assert conditions_of(parsed) == conditions_of(parsed, 1)
    assert conditions_of(parsed) == {LateCondition("name RLIKE \0s", (r"^\w+$",))}
    assert conditions_of(parsed, 2) == {LateCondition("name RLIKE \0s", ("^a",))}
    assert r"name RLIKE '^\\w+$'" in types.asked
    chosen = parse_late(*texts, types=Types(r"name RLIKE '^\\w+$'"))
    assert [bool(conditions_of(chosen, row)) for row in range(3)] == [False, False, True]


def test_a_decimal_parameter_is_not_taken_for_a_double() -> None:
    parsed = parse_late("price * 2 > 7.5", "price * 2 > 7.5D")
    templates = ["(price * \0i) > \0d", "(price * \0i) > \0m"]
    assert sorted(attribute.name for attribute in parsed.space.derived) == templates
    found = facts_of_attributes(parsed.space.derived[1:])
    assert len(found) == 1


def test_a_template_of_an_attribute_may_or_may_not_be_late() -> None:
    parsed = parse_late("price * 2 > 7.5", "price * 3 > 7.5", types=Types("price * 2"))
    facts = facts_of_attributes(parsed.space.derived)
    assert facts["price * \0i"].is_never_late is None
    assert facts["(price * \0i) > \0m"].is_never_late is False


def test_very_long_conditions_are_not_late() -> None:
    text = f"levenshtein(name, '{'x' * 20_000}') < 3"
    rejected = Parser(SPACE, types=Types()).parse([text]).rejected
    assert "at most 16,384 are allowed" in str(rejected[0])


@pytest.mark.parametrize(
    ("text", "can_raise"),
    [
        ("CAST(CAST(name AS INTERVAL DAY) AS STRING) = '1'", True),
        ("CAST(CAST(qty * 1000 AS INTERVAL YEAR) AS STRING) = '1'", True),
        ("CAST(CAST(name AS VARIANT) AS INT) = 1", True),
        ("CAST(CAST(name AS ARRAY<INT>) AS STRING) = '1'", True),
        ("CAST(CAST(name AS INT) AS STRING) = '1'", False),
        ("CAST(name AS INT) + 1 = 1", False),
    ],
)
def test_some_casts_raise_without_ansi_too(text: str, can_raise: bool) -> None:
    space = replace(SPACE, settings=SessionSettings(ansi=False))
    parsed = Parser(space, types=Types()).parse([text])
    assert [attribute.can_raise for attribute in parsed.space.derived] == [can_raise]
