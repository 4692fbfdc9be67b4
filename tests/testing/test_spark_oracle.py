"""The Spark oracle returns the same as `where`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from covey.errors import InvalidArgumentError
from covey.testing.spark_oracle import match_with_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.integration


def test_the_oracle_matches_like_where(spark: SparkSession) -> None:
    from pyspark.errors import PySparkException

    frame = spark.createDataFrame([(1, 5.0), (2, None), (3, -1.0)], "`a.b` INT, price DOUBLE")
    texts = ["price > 0", "price IS NULL", "NOT price > 0", "price > 0 OR price IS NULL"]
    expected = {(row["a.b"], text) for text in texts for row in frame.where(text).collect()}
    for at_once in (1, 3, 100):
        assert (
            match_with_spark(
                frame, dict(zip(texts, texts, strict=True)), "a.b", max_predicates_per_job=at_once
            )
            == expected
        )
    for wrong in ("'true'", "NULL", "price", "prise > 0"):
        with pytest.raises(PySparkException):
            frame.where(wrong).collect()
        with pytest.raises(PySparkException):
            match_with_spark(frame, {1: wrong}, "a.b")
    with pytest.raises(
        InvalidArgumentError, match="max_predicates_per_job must be at least 1, got -1"
    ):
        match_with_spark(frame, {1: "price > 0"}, "a.b", max_predicates_per_job=-1)
