"""Changes of subscriptions as Spark has them: a DataFrame, or the change feed of a Delta table."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from covey.spark.params import MatcherParams
from covey.spark.schemas import column_named

__all__ = ["as_changes"]

_TYPE, _VERSION = "_change_type", "_commit_version"


def as_changes(frame: DataFrame, params: MatcherParams) -> DataFrame:
    """Changes in which an id is there once; a null predicate removes it.

    Of a change feed the last change of an id counts, and within one commit what is there after it.
    """
    if _TYPE not in frame.columns or _VERSION not in frame.columns:
        return frame
    predicate = params.given(params.predicateCol)
    # What was there before an update is gone, unless its id is there after it too.
    gone = F.col(_TYPE).isin("delete", "update_preimage")
    newest = Window.partitionBy(column_named(params.given(params.idCol))).orderBy(
        F.col(_VERSION).desc(), gone.asc()
    )
    last = frame.withColumn("_covey_last", F.row_number().over(newest)).where("_covey_last = 1")
    kept = F.when(gone, F.lit(None)).otherwise(column_named(predicate))
    return last.withColumn(predicate, kept).drop("_covey_last")
