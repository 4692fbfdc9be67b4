"""The work of `covey match`: read, fit, match and write, then count.

Matches are counted as they are written, by Spark's `observe`: nothing is matched twice. So the
model always gives lists, and pairs are made of them on the way out.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from covey.cli.figures import Figures, counted, counts
from covey.cli.progress import Steps
from covey.cli.reading import Source, check_columns, spread, with_floats
from covey.cli.session import Session
from covey.cli.writing import Target
from covey.errors import ValueRefused
from covey.quoting import quoted
from covey.spark import Matcher

__all__ = ["Job"]

_LISTS = "covey_matches"  # of the column that becomes pairs


@dataclass(frozen=True, slots=True)
class Job:
    """One `covey match`; `params` are those of the `Matcher` that need no table to be known."""

    events: Source
    subscriptions: Source
    written: Target
    rejected: Target | None
    is_pairs: bool
    matches_name: str
    columns: list[str] | None
    vectors: dict[str, int]
    params: Mapping[str, Any]
    session: Session

    def run(self) -> tuple[Figures, dict[str, float]]:
        """Does it all; what was counted, and the seconds that each step took."""
        with Steps() as steps, ExitStack() as stack:
            with steps.step("start Spark"):
                spark = stack.enter_context(self.session.started())
            with steps.step("read", spark):
                events = spread(with_floats(self.events.read(spark), self.vectors))
                subscriptions = self.subscriptions.read(spark)
                kept = self._checked(events, subscriptions)
            with steps.step("fit", spark):
                model = Matcher(
                    eventSchema=events.schema, output="arrays", eventCols=kept, matchesCol=_LISTS,
                    vectors=self.vectors, **self.params,
                ).fit(subscriptions)  # fmt: skip
                if self.rejected is not None:
                    self.rejected.write(model.rejected)
            with steps.step("match and write", spark):
                observation = Observation()
                lists = model.transform(events).observe(observation, *counts(_LISTS))
                result = self._shaped(lists, kept)
                self.written.write(result)
            with steps.step("count", spark):
                back = self.written.read(spark, result.schema)
                ids = F.col(quoted(self.matches_name))
                matched = back.select((ids if self.is_pairs else F.explode(ids)).alias("id"))
                figures = counted(observation.get, matched, model)
        return figures, steps.seconds

    def _checked(self, events: DataFrame, subscriptions: DataFrame) -> list[str]:
        """The columns of events to keep, if all that was named is there."""
        wanted = [self.params[p] for p in ("idCol", "predicateCol", "validFromCol", "validToCol")]
        check_columns(subscriptions, [name for name in wanted if name], "subscriptions")
        kept = events.columns if self.columns is None else self.columns
        time = self.params["eventTimeCol"]
        check_columns(events, [*kept, *([time] if time else [])], "events")
        if self.matches_name.lower() in map(str.lower, kept):
            raise ValueRefused(
                f"the events have a column {self.matches_name!r} too: call the column of matched "
                "ids something else with --matches-column, or choose --columns without it"
            )
        return kept

    def _shaped(self, lists: DataFrame, kept: list[str]) -> DataFrame:
        ids = F.col(_LISTS)
        columns = [F.col(quoted(name)) for name in kept]
        return lists.select(
            *columns, (F.explode(ids) if self.is_pairs else ids).alias(self.matches_name)
        )
