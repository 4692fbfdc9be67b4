"""What `covey match` counts: matches per event while they are written, per subscription after."""

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
_PERCENTILE_ACCURACY = 10_000  # of which one is what a median or p99 may be off by


@dataclass(frozen=True, slots=True)
class MatchReport:
    """The counts of one match."""

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


def build_aggregates(lists_column: str) -> list[Column]:
    """Aggregates over a column of lists, for `observe`."""
    size = F.size(lists_column)
    return [
        F.count(F.lit(1)).alias("events"),
        F.count_if(size == 0).alias("unmatched"),
        F.coalesce(F.sum(size), F.lit(0)).alias("matches"),
        F.percentile_approx(size, [0.5, 0.99], _PERCENTILE_ACCURACY).alias("ranks"),
        F.coalesce(F.max(size), F.lit(0)).alias("most"),
    ]


def build_report(
    observed: Mapping[str, object], matched_ids: DataFrame, model: MatcherModel
) -> MatchReport:
    """All figures, from what was observed and the ids that were written, a row for each match."""
    known = Observation()
    per_id = matched_ids.groupBy("id").count().observe(known, F.count(F.lit(1)).alias("ids"))
    busiest = per_id.orderBy(F.desc("count"), "id").limit(_MAX_BUSIEST).collect()
    fields: Mapping[str, Any] = observed
    median, p99 = fields["ranks"] or (0, 0)
    return MatchReport(
        fields["events"],
        fields["unmatched"],
        fields["matches"],
        median,
        p99,
        fields["most"],
        model.numSubscriptions,
        known.get["ids"],
        [(row["id"], row["count"]) for row in busiest],
        Rejections.from_model(model),
        model.fitMetrics,
    )
