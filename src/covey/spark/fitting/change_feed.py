"""Changes of subscriptions in a DataFrame, which may be the change feed of a Delta table."""

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
    """Return the changes that count, with columns that classify them.

    A change with a null predicate removes its subscription, unless constraints are range columns.
    In a change feed, deletions also remove, and only the last change of each id counts. Within one
    commit this is the state after the commit.

    Returns:
        The changes; whether each one removes its subscription; and the reason why it is refused,
        null if it is not.
    """
    removes = F.lit(False)
    if not params.isDefined(params.rangeCols):
        removes = select_column(params._param_value(params.predicateCol)).isNull()
    if _CHANGE_TYPE_COL not in changes.columns:
        return changes, removes, F.lit(None).cast("string")
    # The row before an update removes its id, unless the row after the update has the same id.
    is_deletion = F.col(_CHANGE_TYPE_COL).isin(*_DELETE_TYPES)
    is_upsert = F.col(_CHANGE_TYPE_COL).isin(*_UPSERT_TYPES)
    order = [F.col(_COMMIT_VERSION_COL).desc()] if _COMMIT_VERSION_COL in changes.columns else []
    id_column = select_column(params._param_value(params.idCol))
    newest_first = Window.partitionBy(id_column).orderBy(*order, is_deletion)
    numbered = changes.withColumn("_covey_last", F.row_number().over(newest_first))
    return (
        numbered.where("_covey_last = 1"),
        F.coalesce(is_deletion, F.lit(False)) | removes,
        F.when(~F.coalesce(is_deletion | is_upsert, F.lit(False)), _UNKNOWN_TYPE_REASON),
    )
