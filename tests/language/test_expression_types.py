"""Types of expressions without Spark, if literals determine them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from covey import Parser, SessionSettings, Space, parse

SPACE = Space.from_types(
    {"d": pa.decimal128(10, 2), "n": pa.int32(), "x": pa.float64()},
    settings=SessionSettings(ansi=False),
)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("d + 5", "decimal(11,2)"),
        ("d + (5)", "decimal(11,2)"),
        ("d * (- 50)", "decimal(13,2)"),
        ("d + 5000000000L", "decimal(13,2)"),
        ("coalesce(d, 5)", "decimal(12,2)"),
    ],
)
def test_an_integer_literal_beside_a_decimal_has_the_precision_of_its_digits(
    text: str, type_: str
) -> None:
    (attribute,) = parse(SPACE, [f"{text} > 1"]).space.derived
    assert str(attribute.type) == type_


@pytest.mark.parametrize("text", ["x div 2 = 1", "n div 2.5D = 1", "d div x > 1", "d + (1, 1) > 2"])
def test_operands_that_spark_cannot_divide_or_add_are_refused(text: str) -> None:
    assert list(Parser(SPACE).parse([text]).rejected) == [0]
