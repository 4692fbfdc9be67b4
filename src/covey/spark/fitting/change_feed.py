"""Classification of subscription changes in a DataFrame or in the change feed of a Delta table."""

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
    """Return the changes that have an effect, and columns that classify them.

    A change with a null predicate removes its subscription, unless `rangeCols` is set. A change
    feed is recognised by its column `_change_type`. In a change feed, deletions remove
    subscriptions as well, and only the last change of each id has an effect: the one with the
    largest `_commit_version`. Within a commit, and if that column is missing, an insertion or the
    row after an update counts as later than a deletion or the row before an update.

    Returns:
        The changes; a column that is true if a change removes its subscription; and a column with
        the reason why a change is refused, null for accepted changes.
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
