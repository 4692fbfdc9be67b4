"""Explanations decide like the predicate, condition by condition."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import Events, PredicateError, SchemaError, SessionSettings, Space, explain, parse
from covey.index import BruteForceIndex
from covey.testing.random_cases import random_events, random_predicate, random_space

SPACE = Space.from_types(
    {
        "price": pa.float64(),
        "city": pa.string(),
        "words": pa.list_(pa.string()),
        "v": pa.list_(pa.float32()),
    },
    vectors={"v": 2},
)


@pytest.mark.parametrize(
    ("type_", "value", "shown"),
    [
        (pa.timestamp("us", "UTC"), datetime(2025, 10, 1, 12, tzinfo=UTC),
         "TIMESTAMP '2025-10-01 12:00:00+00:00'"),
        (pa.timestamp("us"), datetime(2025, 10, 1, 12), "TIMESTAMP_NTZ '2025-10-01 12:00:00'"),
        (pa.date32(), date(2025, 10, 1), "DATE '2025-10-01'"),
        (pa.decimal128(9, 2), Decimal("1.50"), "1.50"),
        (pa.bool_(), True, "true"),
        (pa.string(), None, "null"),
    ],
)  # fmt: skip
def test_values_are_shown_as_in_sql(type_: pa.DataType, value: object, shown: str) -> None:
    explanation = explain(Space.from_types({"x": type_}), "x IS NULL", {"x": value})
    assert str(explanation).endswith(f"(x is {shown})")


def test_every_condition_is_explained_with_its_values() -> None:
    explanation = explain(
        SPACE, "price > 100 AND (city = 'Rome' OR city IS NULL)", {"price": 120.5, "city": "Oslo"}
    )
    assert explanation.holds is False
    assert [(part.text, part.holds) for part in explanation.parts] == [
        ("price > 100", True),
        ("(city = 'Rome') OR (city IS NULL)", False),
    ]
    assert explanation.parts[1].parts[0].values == {"city": "Oslo"}
    assert "no: city = 'Rome'    (city is 'Oslo')" in str(explanation)
    assert explanation.as_dict()["parts"][0]["values"] == {"price": 120.5}


def test_null_and_conditions_on_which_spark_raises_are_unknown() -> None:
    assert explain(SPACE, "NOT array_contains(words, 'x')", {"words": ["a", None]}).holds is None
    explanation = explain(SPACE, "vector_l2_distance(v, array(0F, 0F)) < 1", {"v": [1.0, 2.0, 3.0]})
    assert explanation.holds is None
    assert "Spark would raise" in str(explanation)


def test_derived_attributes_are_read_from_the_event() -> None:
    event = {"city": "ROME", "lower(city)": "rome"}
    assert explain(SPACE, "lower(city) = 'rome'", event).holds is True


def test_a_wrong_predicate_raises_an_error() -> None:
    with pytest.raises(PredicateError, match="did you mean price"):
        explain(SPACE, "prise > 5", {"price": 1.0})


@given(st.integers(0, 2**32 - 1))
def test_the_explanation_holds_exactly_when_the_predicate_matches(seed: int) -> None:
    rng = random.Random(seed)
    space = random_space(SessionSettings())
    table = random_events(rng, space, 1)
    text = random_predicate(rng, space, depth=2)
    try:
        predicates = parse(space, [text])
    except PredicateError:
        return
    if predicates.space.derived:
        return
    matches = len(BruteForceIndex(predicates.regions).match(Events.from_arrow(table, space))) > 0
    assert (explain(space, text, table.to_pylist()[0]).holds is True) == matches


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ({"PRICE": 5.0}, "use the name of the column"),
        ({"prise": 5.0}, "use the name of the column"),
        ({"price": "x"}, "price is double"),
        ({"city": 5}, "city is string"),
    ],
)
def test_events_that_do_not_fit_the_space_are_refused(
    event: dict[str, object], problem: str
) -> None:
    with pytest.raises(SchemaError, match=problem):
        explain(SPACE, "price > 5 AND city = 'Rome'", event)
