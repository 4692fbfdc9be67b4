"""Counts of `covey reduce`: regions that each step removed, and statuses by owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from covey.cli.rejections import Rejections
from covey.covering import ReductionSummary
from covey.spark import ReductionResult
from covey.spark.covering import STATUS_NAMES
from covey.sql_names import quote_identifier

__all__ = ["ReductionReport", "build_report"]

StatusCounts = dict[str, int]
_MAX_PLOTTED_OWNERS = 12
_MAX_LISTED_OWNERS = 5


@dataclass(frozen=True, slots=True)
class ReductionReport:
    """The counts of one reduction.

    Args:
        headline: the result in one sentence.
        summary: the counts of each step.
        seconds_by_step: the time of each step of the reduction.
        statuses_by_attribute: for each attribute, the number of regions of each status.
        largest_owners: for the 12 owners with the most subscriptions, the number of subscriptions
            of each status; empty without a column of owners.
        most_redundant_owners: the same for the 5 owners with the most redundant subscriptions.
        rejections: the rejected subscriptions.
    """

    headline: str
    summary: ReductionSummary
    seconds_by_step: Mapping[str, float]
    statuses_by_attribute: dict[str, StatusCounts]
    largest_owners: dict[str, StatusCounts]
    most_redundant_owners: dict[str, StatusCounts]
    rejections: Rejections


def build_report(
    reduction: ReductionResult, subscriptions: DataFrame, owner_column: str | None
) -> ReductionReport:
    """Build the report; Spark counts by owner, and only the largest counts are fetched."""
    largest, most_redundant = {}, {}
    if owner_column is not None:
        owners = _count_by_owner(reduction, subscriptions, owner_column).persist()
        largest = _fetch_top_owners(owners, _sum_columns(STATUS_NAMES), _MAX_PLOTTED_OWNERS)
        most_redundant = _fetch_top_owners(
            owners, _sum_columns(STATUS_NAMES[1:]), _MAX_LISTED_OWNERS
        )
        owners.unpersist()
    return ReductionReport(
        str(reduction),
        reduction.summary,
        reduction.seconds_by_step,
        {name: dict(counts) for name, counts in reduction.status_counts_by_attribute.items()},
        largest,
        most_redundant,
        Rejections.from_model(reduction.model),
    )


def _count_by_owner(
    reduction: ReductionResult, subscriptions: DataFrame, owner_column: str
) -> DataFrame:
    """Return a row for each owner: its name, and its number of subscriptions of each status."""
    id_ = F.col(quote_identifier(reduction.model.getIdCol()))
    name = F.coalesce(F.col(quote_identifier(owner_column)).cast("string"), F.lit("null"))
    owned = subscriptions.select(id_.alias("id"), name.alias("owner"))
    status = reduction.statuses.select(id_.alias("id"), "status")
    counts = [F.count_if(F.col("status") == one).alias(one) for one in STATUS_NAMES]
    return owned.join(status, "id").groupBy("owner").agg(*counts)


def _fetch_top_owners(
    counts_by_owner: DataFrame, rank_by: Column, max_owners: int
) -> dict[str, StatusCounts]:
    rows = (
        counts_by_owner.where(rank_by > 0)
        .orderBy(rank_by.desc(), "owner")
        .limit(max_owners)
        .collect()
    )
    return {row["owner"]: {name: row[name] for name in STATUS_NAMES} for row in rows}


def _sum_columns(columns: Sequence[str]) -> Column:
    total = F.lit(0)
    for name in columns:
        total = total + F.col(name)
    return total
