"""Spark as the oracle: it is asked as `where` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from covey.errors import ValueRefused
from covey.testing.oracle import spark_matches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.integration


def test_the_oracle_keeps_what_where_keeps(spark: SparkSession) -> None:
    from pyspark.errors import PySparkException

    frame = spark.createDataFrame([(1, 5.0), (2, None), (3, -1.0)], "`a.b` INT, price DOUBLE")
    texts = ["price > 0", "price IS NULL", "NOT price > 0", "price > 0 OR price IS NULL"]
    expected = {(row["a.b"], text) for text in texts for row in frame.where(text).collect()}
    for at_once in (1, 3, 100):
        assert (
            spark_matches(frame, dict(zip(texts, texts, strict=True)), "a.b", at_once) == expected
        )
    for wrong in ("'true'", "NULL", "price", "prise > 0"):
        with pytest.raises(PySparkException):
            frame.where(wrong).collect()
        with pytest.raises(PySparkException):
            spark_matches(frame, {1: wrong}, "a.b")
    with pytest.raises(ValueRefused, match="at_once must be at least 1, got -1"):
        spark_matches(frame, {1: "price > 0"}, "a.b", at_once=-1)
