"""Result of a reduction: active and redundant subscriptions, filters, and a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from covey.covering import ReductionSummary
from covey.spark.covering.tables import RenderFiltersTask
from covey.spark.model import MatcherModel
from covey.spark.store_location import to_spark_uri

__all__ = ["ReductionResult"]


@dataclass(frozen=True, slots=True)
class ReductionResult:
    """Result of `reduce_subscriptions`; `str` returns a summary in one line.

    Args:
        model: model with the same matches as a model of all subscriptions. It tries redundant
            subscriptions only on events that match an active one.
        summary: number of regions that each step removed, and number of filters.
        seconds_by_step: seconds of each step.
        folder: folder of the tables, relative to the location of the store.
        status_counts_by_attribute: by attribute and status, how many regions with the status
            constrain the attribute.
    """

    model: MatcherModel
    summary: ReductionSummary
    seconds_by_step: Mapping[str, float]
    folder: str
    status_counts_by_attribute: Mapping[str, Mapping[str, int]]

    @property
    def statuses(self) -> DataFrame:
        """Status of every subscription.

        Columns: the id; `status`, which is active, equal, covered, subsumed, or never if no event
        can match; and `absorbed_by`, the ids of subscriptions whose union contains this one. Those
        are active, or are themselves absorbed by other subscriptions.
        """
        name = self.model._param_value(self.model.idCol)
        return self._read_table("subscriptions").withColumnRenamed("id", name)

    @property
    def active(self) -> DataFrame:
        """Ids of the active subscriptions, in one column."""
        name = self.model._param_value(self.model.idCol)
        return self.statuses.where("status = 'active'").select(F.col(f"`{name}`"))

    @property
    def redundant(self) -> DataFrame:
        """Redundant subscriptions, with the columns of `statuses`."""
        return self.statuses.where("status != 'active'")

    @property
    def filters(self) -> DataFrame:
        """Filters that together contain all active subscriptions.

        Columns: `filter`, a number; `predicate`; and `regions`, the number of active regions whose
        hull is the filter. Predicates are rendered when the DataFrame is read; each takes about
        0.1 ms.
        """
        location = f"{self.model._state.location}/{self.folder}/store"
        schema = "filter long, predicate string, regions long"
        return self._read_table("filters").mapInArrow(RenderFiltersTask(location), schema)

    def __str__(self) -> str:
        s = self.summary
        line = f"{s.subscriptions:,} subscriptions → {s.subscriptions - s.redundant:,} active"
        if s.filters < s.active:
            line += f", {s.filters:,} filters for {s.active:,} regions"
        if s.sampled_events:
            line += f", {s.false_share:.1%} false forwards"
        return line

    def _read_table(self, name: str) -> DataFrame:
        path = to_spark_uri(f"{self.model._state.location}/{self.folder}/{name}")
        return SparkSession.active().read.parquet(path)
