"""Counts of `covey match`: per event while matches are written, per subscription afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from covey.cli.rejections import Rejections

if TYPE_CHECKING:
    from covey.spark import MatcherModel

__all__ = ["MatchReport", "build_aggregates", "build_report"]

_MAX_BUSIEST = 5
_PERCENTILE_ACCURACY = 10_000  # a median or p99 is off by at most one rank in 10,000


@dataclass(frozen=True, slots=True)
class MatchReport:
    """The counts of one run.

    If `is_cut`, a limit may have ended the matching early. Then `events` is the number of all
    events, whether matched or not; `matches`, `matched_subscriptions` and `busiest_subscriptions`
    count only the rows that were written; and the other counts per event are 0.

    If `is_written` is false, nothing was matched because all subscriptions were rejected. Then all
    counts are 0 except those of rejections.
    """

    events: int
    unmatched_events: int
    matches: int
    median_per_event: int
    p99_per_event: int
    max_per_event: int
    subscriptions: int
    matched_subscriptions: int
    busiest_subscriptions: list[tuple[Any, int]]
    rejections: Rejections
    fit_seconds: Mapping[str, float]
    is_cut: bool = False
    is_written: bool = True

    @classmethod
    def without_matches(cls, rejections: Rejections, model: MatcherModel) -> MatchReport:
        """Return the report of a run that ended after the fit: all subscriptions were rejected."""
        metrics = model.fitMetrics
        return cls(0, 0, 0, 0, 0, 0, 0, 0, [], rejections, metrics, is_written=False)


def build_aggregates(lists_column: str) -> list[Column]:
    """Return aggregates for `observe`, over a column with the list of the matches of each event."""
    size = F.size(lists_column)
    return [
        F.count(F.lit(1)).alias("events"),
        F.count_if(size == 0).alias("unmatched"),
        F.coalesce(F.sum(size), F.lit(0)).alias("matches"),
        F.percentile_approx(size, [0.5, 0.99], _PERCENTILE_ACCURACY).alias("ranks"),
        F.coalesce(F.max(size), F.lit(0)).alias("most"),
    ]


def build_report(
    observed: Mapping[str, object],
    matched_ids: DataFrame,
    model: MatcherModel,
    rejections: Rejections,
    *,
    cut_events: int | None = None,
) -> MatchReport:
    """Build the report from the counts that Spark observed and from the written ids.

    Args:
        observed: values of the aggregates of `build_aggregates`.
        matched_ids: column `id` with the subscription of each match that was written.
        model: the model that matched.
        rejections: the rejected subscriptions of the model.
        cut_events: number of all events, if a limit may have ended the matching early; otherwise
            None.
    """
    written = Observation()
    ids, rows = F.count(F.lit(1)).alias("ids"), F.sum("count").alias("rows")
    per_id = matched_ids.groupBy("id").count().observe(written, ids, rows)
    busiest = per_id.orderBy(F.desc("count"), "id").limit(_MAX_BUSIEST).collect()
    fields: Mapping[str, Any] = observed
    if cut_events is not None:
        fields = {
            "events": cut_events, "unmatched": 0, "matches": written.get["rows"] or 0,
            "ranks": None, "most": 0,
        }  # fmt: skip
    median, p99 = fields["ranks"] or (0, 0)
    return MatchReport(
        fields["events"],
        fields["unmatched"],
        fields["matches"],
        median,
        p99,
        fields["most"],
        model.numSubscriptions,
        written.get["ids"],
        [(row["id"], row["count"]) for row in busiest],
        rejections,
        model.fitMetrics,
        cut_events is not None,
    )
