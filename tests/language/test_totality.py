"""Expressions that Spark can compute without an exception, and try forms of those that raise."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from covey import SessionSettings, Space, parse
from covey.space import Attribute

SPACE = Space.from_types(
    {
        "price": pa.float64(),
        "qty": pa.int32(),
        "name": pa.string(),
        "tags": pa.list_(pa.string()),
        "cost": pa.decimal128(10, 2),
    }
)


def derive(text: str, ansi: bool = True) -> Attribute:
    """Return the derived attribute of a condition on one expression."""
    space = replace(SPACE, settings=SessionSettings(ansi=ansi))
    attributes = [each for each in parse(space, [text]).space.derived if not each.is_flag]
    assert len(attributes) == 1
    return attributes[0]


@pytest.mark.parametrize(
    ("text", "try_form"),
    [
        ("price / qty > 3", "try_divide(price, qty)"),
        ("CAST(name AS INT) > 3", "TRY_CAST(name AS INT)"),
        ("(CAST(name AS INT) + 1) * qty > 3",
         "try_multiply(try_add(TRY_CAST(name AS INT), 1), qty)"),
        ("upper(CAST(qty - 2 AS STRING)) = 'A'", "upper(CAST(try_subtract(qty, 2) AS STRING))"),
        ("(CAST(name AS INT) BETWEEN 3 AND length(name)) = (price > 2)",
         "(TRY_CAST(name AS INT) BETWEEN 3 AND length(name)) = (price > 2)"),
        ("(CAST(name AS INT) NOT IN (3, 4)) = (price > 2)",
         "(NOT (TRY_CAST(name AS INT) IN (3, 4))) = (price > 2)"),
        ("name || CAST(qty * 2 AS STRING) > 'a'", "name || CAST(try_multiply(qty, 2) AS STRING)"),
        ("CAST(price AS INT) = length(name)", "TRY_CAST(price AS INT) = length(name)"),
    ],
)  # fmt: skip
def test_an_expression_that_passes_nulls_on_has_a_try_form(text: str, try_form: str) -> None:
    attribute = derive(text)
    assert attribute.can_raise
    assert attribute.sql == attribute.try_form == try_form


@pytest.mark.parametrize(
    "text",
    [
        "coalesce(CAST(name AS INT), 0) > 3",  # would be 0 instead of null
        "hash(CAST(name AS INT)) > 3",
        "concat_ws('-', CAST(CAST(name AS INT) AS STRING)) > 'a'",
        "size(split(CAST(CAST(name AS INT) AS STRING), 'a')) < 0",
        "if(qty = 0, 0, price / qty) > 3",
        "(CAST(name AS INT) <=> qty) = (qty = 3)",
        "(qty IN (2, CAST(name AS INT))) = (qty = 3)",
        "(qty BETWEEN 2 AND CAST(name AS INT)) = (qty = 3)",
        "(qty = 3 AND CAST(name AS INT) = 3) = (qty = 4)",
        "(CAST(name AS INT) IS NULL) = (qty = 4)",
        "qty % 3 = 1",  # no function of Spark 3.5
        "- qty > 3",
        "qty > name",  # the cast is implicit
        "CAST(tags AS STRING) = CAST(name AS INT)",
    ],
)
def test_other_expressions_are_guarded(text: str) -> None:
    attribute = derive(text)
    assert attribute.can_raise
    assert attribute.try_form is None
    assert attribute.sql.startswith("CASE WHEN try_to_binary")


@pytest.mark.parametrize("text", ["price * qty > 3", "upper(name) = 'A'", "length(name) = 3"])
def test_total_expressions_are_computed_as_they_are(text: str) -> None:
    attribute = derive(text)
    assert not attribute.can_raise
    assert attribute.sql == attribute.name


def test_without_ansi_a_cast_is_no_try_cast() -> None:
    """It reads for example ' 3.5' as the INT 3, which TRY_CAST does not."""
    attribute = derive("CAST(name AS INT) = 3", ansi=False)
    assert not attribute.can_raise
    assert attribute.sql == "CAST(name AS INT)"


def test_the_opposite_of_a_condition_has_the_opposite_try_form() -> None:
    attribute = derive("CAST(price AS INT) = length(name)").negate()
    assert attribute.name == "NOT (CAST(price AS INT) = length(name))"
    assert attribute.sql == "NOT (TRY_CAST(price AS INT) = length(name))"
