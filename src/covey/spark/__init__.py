"""Spark: every event to every subscription that wants it, and subscriptions made few."""

from typing import TYPE_CHECKING

from covey.lazily import lazily

if TYPE_CHECKING:
    from covey.spark.compacting import compact
    from covey.spark.compaction import Compaction
    from covey.spark.matcher import Matcher, match
    from covey.spark.model import MatcherModel
    from covey.spark.planning import TablePlan, plan_table

__all__ = [
    "Compaction",
    "Matcher",
    "MatcherModel",
    "TablePlan",
    "compact",
    "match",
    "plan_table",
]

__getattr__ = lazily(
    __name__,
    {
        "Compaction": "compaction",
        "Matcher": "matcher",
        "MatcherModel": "model",
        "TablePlan": "planning",
        "compact": "compacting",
        "match": "matcher",
        "plan_table": "planning",
    },
)
