"""Very skewed events and subscriptions cause no failure and use bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from covey import SessionSettings
from covey.testing.spark_oracle import configure_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.integration

MANY = 100_000


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    """Return events, nearly all of them in one partition."""
    configure_session(spark, SessionSettings())
    large = spark.range(0, 20_000, 1, 1).selectExpr("id AS n", "CAST(id AS DOUBLE) AS x")
    small = spark.range(20_000, 20_010, 1, 1).selectExpr("id AS n", "CAST(id AS DOUBLE) AS x")
    return large.union(small)


def test_one_event_matches_a_hundred_thousand_subscriptions(
    spark: SparkSession, events: DataFrame
) -> None:
    from covey.spark import Matcher

    alerts = spark.range(MANY).selectExpr("id", "7.0D AS low", "7.0D AS high")
    alerts = alerts.union(spark.sql("SELECT -1L, CAST(NULL AS DOUBLE), CAST(NULL AS DOUBLE)"))
    ranges = {"x": ("low", "high")}
    for output, column in (("pairs", "id"), ("arrays", "matches")):
        model = Matcher(eventSchema=events.schema, rangeCols=ranges, outputMode=output).fit(alerts)
        matches = model.transform(events)
        size = "count(*)" if output == "pairs" else f"sum(size({column}))"
        (total,) = matches.selectExpr(f"{size} AS n").collect()
        # one subscription without a constraint matches everything
        assert total["n"] == MANY + 20_010
        (seven,) = matches.where("n = 7").selectExpr(f"{size} AS n").collect()
        assert seven["n"] == MANY + 1


def test_every_event_matches_thousands_of_subscriptions(
    spark: SparkSession, events: DataFrame
) -> None:
    """One partition has ten million matches, in batches that stay small."""
    from covey.spark import Matcher

    alerts = spark.range(2_500).selectExpr("id", "CAST(-id AS DOUBLE) AS low")
    ranges = {"x": ("low", "high")}
    alerts = alerts.selectExpr("id", "low", "CAST(NULL AS DOUBLE) AS high")
    model = Matcher(eventSchema=events.schema, rangeCols=ranges, eventCols=["n"]).fit(alerts)

    def largest(batches: object) -> object:
        sizes = [batch.nbytes for batch in batches]  # type: ignore[attr-defined]
        yield pa.RecordBatch.from_pydict(
            {"bytes": pa.array([max(sizes, default=0)]), "all": pa.array([sum(sizes)])}
        )

    selected_events = events.where("n < 4000 OR n >= 20000")
    rows = model.transform(selected_events).mapInArrow(largest, "bytes long, all long").collect()
    assert sum(row["all"] for row in rows) >= 2_500 * 4_010 * 16
    assert max(row["bytes"] for row in rows) <= 16 << 20


def test_batches_are_divided_by_their_size_in_bytes() -> None:
    from covey.index import Pairs
    from covey.spark.id_types import IdType
    from covey.spark.matching.output import ArrayRows, PairRows
    from covey.store import IdMatches, UndecidedPairs

    wide = pa.RecordBatch.from_pydict({"text": ["x" * 1_000_000] * 20})
    query_rows = np.arange(20, dtype=np.int32)
    ids = pa.array(np.arange(20))
    no_pairs = Pairs(query_rows[:0], query_rows[:0])
    matches = IdMatches(query_rows, ids, 20, no_pairs, UndecidedPairs.empty(), ids[:0])
    for shape in (PairRows(("text",), "id", IdType(pa.int64())),
                  ArrayRows(("text",), "ids", IdType(pa.int64()))):  # fmt: skip
        batches = list(shape.to_batches(wide, matches))
        assert sum(batch.num_rows for batch in batches) == 20
        assert max(batch.nbytes for batch in batches) <= 10 << 20
