"""The result of a compaction: what is active, what absorbs the rest, filters, and a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from covey.compact import Summary
from covey.spark.model import MatcherModel
from covey.spark.places import spark_path
from covey.spark.standing import Filters

__all__ = ["Compaction"]


@dataclass(frozen=True, slots=True)
class Compaction:
    """A set of subscriptions and how it was made small.

    `model` notifies as one of all subscriptions would: passive ones are tried only on events that
    some active one matches. `summary` counts what each step removed, `seconds` where time went;
    `by_attribute` counts, for each attribute, the regions of each standing that constrain it;
    `str` of it is one line.
    """

    model: MatcherModel
    summary: Summary
    seconds: Mapping[str, float]
    folder: str
    by_attribute: Mapping[str, Mapping[str, int]]

    @property
    def standing(self) -> DataFrame:
        """Every subscription: its id, `standing` (active, equal, covered, subsumed or never), and
        `absorbed_by`, the ids of those whose union contains it, which
        are active or absorbed by larger ones in turn.
        """
        name = self.model.given(self.model.idCol)
        return self._table("subscriptions").withColumnRenamed("id", name)

    @property
    def active(self) -> DataFrame:
        """The ids of those that are active."""
        name = self.model.given(self.model.idCol)
        return self.standing.where("standing = 'active'").select(F.col(f"`{name}`"))

    @property
    def passive(self) -> DataFrame:
        """The others, and what absorbs them."""
        return self.standing.where("standing != 'active'")

    @property
    def filters(self) -> DataFrame:
        """Filters that contain all that is active: a number, a predicate, and of how many regions
        it is the hull. Predicates are written when they are asked for, 0.1 ms each.
        """
        place = f"{self.model.fitted.place}/{self.folder}/store"
        schema = "filter long, predicate string, regions long"
        return self._table("filters").mapInArrow(Filters(place), schema)

    def __str__(self) -> str:
        s = self.summary
        line = f"{s.subscriptions:,} subscriptions → {s.subscriptions - s.passive:,} active"
        if s.filters < s.active:
            line += f", {s.filters:,} filters for {s.active:,} regions"
        if s.sampled:
            line += f", {s.false_share:.1%} false forwards"
        return line

    def _table(self, name: str) -> DataFrame:
        path = spark_path(f"{self.model.fitted.place}/{self.folder}/{name}")
        return SparkSession.active().read.parquet(path)
