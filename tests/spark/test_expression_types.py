"""Types of expressions as Spark reports them, of any depth."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import pytest
from pyspark.sql.types import ArrayType, DataType, IntegerType, StructField, StructType

from covey.language.semantics.expression_types import Refusal
from covey.spark.fitting.expression_analysis import find_accepted, read_expression_type


def nested(depth: int, is_struct: bool) -> DataType:
    """Return a type with `depth` levels of nesting."""
    type_: DataType = IntegerType()
    for _ in range(depth - 1):
        type_ = StructType([StructField("a", type_)]) if is_struct else ArrayType(type_)
    return type_


def test_a_type_too_deep_for_pickling_is_refused() -> None:
    for is_struct in (True, False):
        for depth in (101, 350, 5_000):
            found = read_expression_type(nested(depth, is_struct))
            assert isinstance(found, Refusal)
            assert "more than 100 levels of nesting" in found.reason
        known = read_expression_type(nested(100, is_struct))
        assert pickle.loads(pickle.dumps({"x": [known]})) == {"x": [known]}


@pytest.mark.parametrize("refused", [[], [0], [749], [3, 400], list(range(750))])
def test_refused_literals_are_found_by_bisection(refused: list[int]) -> None:
    trials: list[int] = []

    def is_accepted(group: Sequence[int]) -> bool:
        trials.append(len(group))
        return not {*group} & {*refused}

    accepted = find_accepted(range(750), is_accepted)
    assert not {*accepted} & {*refused}
    assert len(trials) <= 40
    if len(refused) < 2:
        assert len(accepted) == 750 - len(refused)
