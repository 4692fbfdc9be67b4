"""Batches with thousands of wrong texts, and arguments that are not lists of texts."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from covey import CoveyError, InvalidArgumentError, Parser, PredicateError, Space, parse, render
from covey.geometry.scalars import Scalars

SPACE = Space.from_types({"price": pa.float64(), "city": pa.string()})


def test_thousands_of_wrong_texts_of_one_template_are_rejected() -> None:
    texts = [f"prise > {i}" for i in range(3_000)] + ["price > 5"]
    predicates = Parser(SPACE).parse(texts)
    assert len(predicates.rejected) == 3_000
    assert predicates.predicate_rows.tolist() == [3_000]
    assert predicates.rejected[2_999].text == "prise > 2999"


def test_regions_are_mapped_to_their_texts() -> None:
    predicates = parse(
        SPACE, ["price > 5 OR city = 'Rome'", "price < 1 AND price > 2", "price > 7"]
    )
    assert len(predicates) == 3
    assert predicates.predicate_rows.tolist() == [0, 0, 2]
    assert predicates.to_predicate_rows(predicates.predicate_rows[:0]).tolist() == []
    assert predicates.unsatisfiable.tolist() == [1]


@pytest.mark.parametrize("texts", ["price > 5", [None], [5], ["price > 5", b"x"]])
def test_arguments_other_than_lists_of_texts_are_refused(texts: object) -> None:
    with pytest.raises(InvalidArgumentError):
        parse(SPACE, texts)  # type: ignore[arg-type]


def test_an_iterable_of_texts_is_accepted() -> None:
    assert len(parse(SPACE, (text for text in ["price > 5"]))) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("row", [-1, 1])
def test_rendering_a_row_out_of_range_is_refused(row: int) -> None:
    with pytest.raises(
        CoveyError, match="row must be at least 0 and less than 1, the number of regions"
    ):
        render(parse(SPACE, ["price > 5"]).regions, row)


def test_long_decimals_keep_all_digits() -> None:
    space = Space.from_types({"d": pa.decimal128(38, 2), "e": pa.decimal128(38, 0)})
    number = "123456789012345678901234567891"
    regions = parse(space, [f"e = {number}", f"d > {number}.25", f"d = {number}.25"]).regions
    e, d = regions.constraints["e"].batch, regions.constraints["d"].batch
    assert isinstance(e, Scalars)
    assert isinstance(d, Scalars)
    assert e.lower.tolist() == e.upper.tolist() == [int(number)]
    assert d.lower.tolist() == [int(number) * 100 + 26, int(number) * 100 + 25]


def test_the_wrong_one_of_many_texts_is_named_by_its_row() -> None:
    texts = ["price > 1"] * 500 + ["prise > 1", "prise > 2"]
    with pytest.raises(PredicateError, match=r"^predicate 500 \(from 0\): line 1, column 1: ") as e:
        parse(SPACE, texts)
    assert e.value.row == 500
    again = pickle.loads(pickle.dumps(e.value))
    assert (again.row, str(again)) == (500, str(e.value))
    with pytest.raises(PredicateError, match=r"^line 1, column 1: ") as alone:
        parse(SPACE, ["prise > 1"])
    assert alone.value.row is None
