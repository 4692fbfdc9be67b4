"""Changes of subscriptions as Spark has them: a DataFrame, or the change feed of a Delta table."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from covey.spark.params import MatcherParams
from covey.spark.schemas import column_named

__all__ = ["as_changes"]

_TYPE, _VERSION = "_change_type", "_commit_version"
_PUTTING, _REMOVING = ("insert", "update_postimage"), ("delete", "update_preimage")
_UNKNOWN = f"{_TYPE} must be one of {', '.join(_PUTTING + _REMOVING)}"


def as_changes(frame: DataFrame, params: MatcherParams) -> tuple[DataFrame, Column, Column]:
    """Return changes, which of them remove their id, and why some are refused, null for the others.

    Those without a predicate remove it, where there are predicates. Of a change feed, deletions
    remove too, and there is one change for each id: the last one, and within one commit what is
    there after it.
    """
    removes = F.lit(False)
    if not params.isDefined(params.rangeCols):
        removes = column_named(params.given(params.predicateCol)).isNull()
    if _TYPE not in frame.columns:
        return frame, removes, F.lit(None).cast("string")
    # What was there before an update is gone, unless its id is there after it too.
    gone, put = F.col(_TYPE).isin(*_REMOVING), F.col(_TYPE).isin(*_PUTTING)
    order = [F.col(_VERSION).desc()] if _VERSION in frame.columns else []
    newest = Window.partitionBy(column_named(params.given(params.idCol))).orderBy(*order, gone)
    last = frame.withColumn("_covey_last", F.row_number().over(newest)).where("_covey_last = 1")
    return (
        last,
        F.coalesce(gone, F.lit(False)) | removes,
        F.when(~F.coalesce(gone | put, F.lit(False)), _UNKNOWN),
    )
