"""Late conditions in the language: templates and parameters in place of derived attributes."""

from __future__ import annotations

import string

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import Space, render
from covey.geometry.relations import covers
from covey.language import Parser, Predicates
from covey.language.late_conditions import LateCondition
from covey.language.semantics import KnownTypes, facts_of_attributes, split_expression
from covey.space.space import LATE
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
        ("x IN (1, 2)", "x IN \0x", ("(1, 2)",)),
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
