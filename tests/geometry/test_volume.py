"""Volumes and selectivities, computed by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest

from covey.errors import SchemaError
from covey.geometry.relations import estimate_selectivity, uniform_volume
from covey.language import parse
from covey.space import Events, Space

SPACE = Space.from_types(
    {
        "i": pa.int32(),
        "big": pa.int64(),
        "f": pa.float64(),
        "money": pa.decimal128(20, 2),
        "flag": pa.bool_(),
        "day": pa.date32(),
        "name": pa.string(),
    }
)
BOUNDS = {
    "i": (1, 10),
    "big": (-(2**63), 2**63 - 1),
    "f": (0.0, 2.0),
    "money": (0, 1),
    "flag": (0, 1),
    "day": (0, 9),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i BETWEEN 1 AND 5", 0.5),
        ("i > 5", 0.5),
        ("i <= 0", 0.0),
        ("i IN (1, 4, 40)", 0.2),
        ("i NOT IN (1, 4, 40)", 0.8),
        ("i <> 7 AND i > 5", 0.4),
        ("i IS NULL", 0.0),
        ("i IS NOT NULL", 1.0),
        ("big >= 0", 0.5),
        ("f > 0.5", 0.75),
        ("f BETWEEN -1 AND 0.5", 0.25),
        ("f = 0.5", 0.0),
        ("f IN (0.5, 1)", 0.0),
        ("f <> 0.5", 1.0),
        ("f > 7", 0.0),
        ("money < 0.01", 1 / 101),
        ("money >= 0.5", 51 / 101),
        ("flag", 0.5),
        ("day < '1970-01-06'", 0.5),
        ("i <= 5 AND f > 1 AND flag", 0.125),
    ],
)
def test_volumes_computed_by_hand(text: str, expected: float) -> None:
    assert uniform_volume(parse(SPACE, [text]).regions, BOUNDS).tolist() == [
        pytest.approx(expected)
    ]


def test_each_region_of_a_batch_has_its_own_volume() -> None:
    texts = ["i <= 5", "f > 1.5", "i <= 5 AND f > 1.5"]
    volumes = uniform_volume(parse(SPACE, texts).regions, BOUNDS)
    assert volumes.tolist() == pytest.approx([0.5, 0.25, 0.125])


@pytest.mark.parametrize("text", ["name = 'a'", "i > 5"])
def test_a_message_names_the_attribute_without_a_uniform_volume(text: str) -> None:
    with pytest.raises(
        SchemaError, match=rf"'{text.split()[0]}' has no bounds.*estimate_selectivity"
    ):
        uniform_volume(parse(SPACE, [text]).regions, {"name": (0, 1)})


def test_selectivity_is_the_share_of_events() -> None:
    """Dependent attributes are counted as they occur together."""
    table = pa.table({"i": [1, 2, None, 4], "name": ["a", "b", "c", None]})
    sample = Events.from_arrow(table, SPACE)
    texts = ["i >= 2", "name = 'a'", "i >= 2 AND name = 'a'", "i IS NULL", "name <> 'zz'"]
    assert estimate_selectivity(parse(SPACE, texts).regions, sample).tolist() == [
        0.5,
        0.25,
        0.0,
        0.25,
        0.75,
    ]


def test_selectivity_on_an_empty_sample_is_zero() -> None:
    none = Events.from_arrow(pa.schema([("i", pa.int32())]).empty_table(), SPACE)
    assert estimate_selectivity(parse(SPACE, ["i >= 2", "i IS NULL"]).regions, none).tolist() == [
        0.0,
        0.0,
    ]
