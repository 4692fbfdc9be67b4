"""SQL literals: Spark reads the value that was written."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from covey.language.values.sql_literals import quote_string
from covey.space.keys import encode_floats
from covey.space.types import DOUBLE, decimal_type
from covey.workload import literal_texts

DOUBLES = np.array([0.1, -0.03, 1e-5, 5e-324, 1.7976931348623157e308, 2 / 3, -0.0])
FLOATS = np.array([0.1, -0.03, 1.5e-7, 2 / 3, 1.0, 0.0, 16777216.0, 0.0058998466], np.float32)
TEXTS = ["plain", "O'Hara's", "back\\slash", 'double "quotes"', "two\nlines", "\\'", "%_", "ü€😀"]


def test_doubles_keep_all_their_bits() -> None:
    written = literal_texts.format_scalars(encode_floats(DOUBLES), DOUBLE)
    assert written[:3] == ["0.1D", "-0.03D", "1e-05D"]
    assert [float(text[:-1]) for text in written] == DOUBLES.tolist()


def test_floats_are_short_and_have_no_exponent() -> None:
    written = literal_texts.format_floats(FLOATS)
    assert written[:3] == ["0.1F", "-0.03F", "0.00000015F"]
    assert [np.float32(text[:-1]) for text in written] == FLOATS.tolist()


@pytest.mark.integration
def test_spark_reads_the_written_values() -> None:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    )
    written = [
        *literal_texts.format_scalars(encode_floats(DOUBLES), DOUBLE),
        *literal_texts.format_floats(FLOATS),
        *map(quote_string, TEXTS),
        *literal_texts.format_scalars(np.array([5, -1205, 9_999_999_998]), decimal_type(10, 2)),
        *literal_texts.format_vectors(FLOATS[None, :]),
    ]
    expected = [
        *(0.0 + DOUBLES).tolist(), *FLOATS.tolist(), *TEXTS,
        Decimal("0.05"), Decimal("-12.05"), Decimal("99999999.98"), FLOATS.tolist(),
    ]  # fmt: skip
    frame = spark.sql(f"SELECT {', '.join(f'{text} AS c{i}' for i, text in enumerate(written))}")
    assert list(frame.collect()[0]) == expected
    kinds = [field.dataType.simpleString() for field in frame.schema]
    assert kinds[: len(DOUBLES)] == ["double"] * len(DOUBLES)
    assert kinds[len(DOUBLES) : len(DOUBLES) + len(FLOATS)] == ["float"] * len(FLOATS)
    assert kinds[-1] == "array<float>"
