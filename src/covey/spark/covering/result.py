"""The result of a compaction: what is active, what absorbs the rest, filters, and a model."""

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
    """A set of subscriptions and how it was made small.

    `model` notifies as one of all subscriptions would: redundant ones are tried only on events that
    some active one matches. `summary` counts what each step removed, `seconds` where time went;
    `by_attribute` counts, for each attribute, the regions of each status that constrain it;
    `str` of it is one line.
    """

    model: MatcherModel
    summary: ReductionSummary
    seconds_by_step: Mapping[str, float]
    folder: str
    status_counts_by_attribute: Mapping[str, Mapping[str, int]]

    @property
    def statuses(self) -> DataFrame:
        """Every subscription: its id, `status` (active, equal, covered, subsumed or never), and
        `absorbed_by`, the ids of those whose union contains it, which are active or absorbed by
        larger ones in turn.
        """
        name = self.model._param_value(self.model.idCol)
        return self._read_table("subscriptions").withColumnRenamed("id", name)

    @property
    def active(self) -> DataFrame:
        """The ids of those that are active."""
        name = self.model._param_value(self.model.idCol)
        return self.statuses.where("status = 'active'").select(F.col(f"`{name}`"))

    @property
    def redundant(self) -> DataFrame:
        """The others, and what absorbs them."""
        return self.statuses.where("status != 'active'")

    @property
    def filters(self) -> DataFrame:
        """Filters that contain all that is active: a number, a predicate, and of how many regions
        it is the hull. Predicates are written when they are asked for, 0.1 ms each.
        """
        place = f"{self.model._state.location}/{self.folder}/store"
        schema = "filter long, predicate string, regions long"
        return self._read_table("filters").mapInArrow(RenderFiltersTask(place), schema)

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
