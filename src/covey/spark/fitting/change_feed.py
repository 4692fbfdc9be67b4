"""Changes of subscriptions as Spark has them: a DataFrame, or the change feed of a Delta table."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from covey.spark.params import MatcherParams
from covey.spark.schemas import select_column

__all__ = ["classify_changes"]

_CHANGE_TYPE_COL, _COMMIT_VERSION_COL = "_change_type", "_commit_version"
_UPSERT_TYPES, _DELETE_TYPES = ("insert", "update_postimage"), ("delete", "update_preimage")
_UNKNOWN_TYPE_REASON = (
    f"{_CHANGE_TYPE_COL} must be one of {', '.join(_UPSERT_TYPES + _DELETE_TYPES)}"
)


def classify_changes(changes: DataFrame, params: MatcherParams) -> tuple[DataFrame, Column, Column]:
    """Return changes, which of them remove their id, and why some are refused, null for the others.

    Those without a predicate remove it, where there are predicates. Of a change feed, deletions
    remove too, and there is one change for each id: the last one, and within one commit what is
    there after it.
    """
    removes = F.lit(False)
    if not params.isDefined(params.rangeCols):
        removes = select_column(params._param_value(params.predicateCol)).isNull()
    if _CHANGE_TYPE_COL not in changes.columns:
        return changes, removes, F.lit(None).cast("string")
    # What was there before an update is gone, unless its id is there after it too.
    gone, put = (
        F.col(_CHANGE_TYPE_COL).isin(*_DELETE_TYPES),
        F.col(_CHANGE_TYPE_COL).isin(*_UPSERT_TYPES),
    )
    order = [F.col(_COMMIT_VERSION_COL).desc()] if _COMMIT_VERSION_COL in changes.columns else []
    newest = Window.partitionBy(select_column(params._param_value(params.idCol))).orderBy(
        *order, gone
    )
    last = changes.withColumn("_covey_last", F.row_number().over(newest)).where("_covey_last = 1")
    return (
        last,
        F.coalesce(gone, F.lit(False)) | removes,
        F.when(~F.coalesce(gone | put, F.lit(False)), _UNKNOWN_TYPE_REASON),
    )
