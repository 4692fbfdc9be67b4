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

__all__ = ["Figures", "counted", "counts"]

_SHOWN = 5
_RANKS = 10_000  # of which one is what a median or p99 may be off by


@dataclass(frozen=True, slots=True)
class Figures:
    """The counts of one match."""

    events: int
    unmatched: int
    matches: int
    median: int
    p99: int
    most: int
    subscriptions: int
    matched: int
    busiest: list[tuple[Any, int]]
    rejected: Rejections
    fit_seconds: Mapping[str, float]


def counts(lists: str) -> list[Column]:
    """Aggregates over a column of lists, for `observe`."""
    size = F.size(lists)
    return [
        F.count(F.lit(1)).alias("events"),
        F.count_if(size == 0).alias("unmatched"),
        F.coalesce(F.sum(size), F.lit(0)).alias("matches"),
        F.percentile_approx(size, [0.5, 0.99], _RANKS).alias("ranks"),
        F.coalesce(F.max(size), F.lit(0)).alias("most"),
    ]


def counted(observed: Mapping[str, Any], matched: DataFrame, model: MatcherModel) -> Figures:
    """All figures, from what was observed and the ids that were written, a row for each match."""
    known = Observation()
    per_id = matched.groupBy("id").count().observe(known, F.count(F.lit(1)).alias("ids"))
    busiest = per_id.orderBy(F.desc("count"), "id").limit(_SHOWN).collect()
    median, p99 = observed["ranks"] or (0, 0)
    return Figures(
        observed["events"],
        observed["unmatched"],
        observed["matches"],
        median,
        p99,
        observed["most"],
        model.subscriptions,
        known.get["ids"],
        [(row["id"], row["count"]) for row in busiest],
        Rejections.of(model),
        model.fitSeconds,
    )
