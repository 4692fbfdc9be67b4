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

from covey.cli.io.sources import (
    TableSource,
    cast_vectors_to_float,
    check_columns,
    repartition_small,
)
from covey.cli.io.targets import TableTarget
from covey.cli.match.report import MatchReport, build_aggregates, build_report
from covey.cli.progress import StepProgress
from covey.cli.session import SessionLauncher
from covey.errors import InvalidArgumentError
from covey.spark import Matcher
from covey.sql_names import quote_identifier

__all__ = ["MatchJob"]

_MATCH_LISTS = "covey_matches"  # of the column that becomes pairs


@dataclass(frozen=True, slots=True)
class MatchJob:
    """One `covey match`; `params` are those of the `Matcher` that need no table to be known."""

    events: TableSource
    subscriptions: TableSource
    output: TableTarget
    rejected_output: TableTarget | None
    writes_pairs: bool
    matches_column: str
    event_columns: list[str] | None
    vector_lengths: dict[str, int]
    matcher_params: Mapping[str, Any]
    launcher: SessionLauncher

    def run(self) -> tuple[MatchReport, dict[str, float]]:
        """Does it all; what was counted, and the seconds that each step took."""
        with StepProgress() as steps, ExitStack() as stack:
            with steps.track_step("start Spark"):
                spark = stack.enter_context(self.launcher.launch())
            with steps.track_step("read", spark):
                events = repartition_small(
                    cast_vectors_to_float(self.events.read(spark), self.vector_lengths)
                )
                subscriptions = self.subscriptions.read(spark)
                kept = self._resolve_event_columns(events, subscriptions)
            with steps.track_step("fit", spark):
                model = Matcher(
                    eventSchema=events.schema,
                    outputMode="arrays",
                    eventCols=kept,
                    outputCol=_MATCH_LISTS,
                    vectors=self.vector_lengths,
                    **self.matcher_params,
                ).fit(subscriptions)
                if self.rejected_output is not None:
                    self.rejected_output.write(model.rejectedSubscriptions)
            with steps.track_step("match and write", spark):
                observation = Observation()
                lists = model.transform(events).observe(
                    observation, *build_aggregates(_MATCH_LISTS)
                )
                result = self._shape_output(lists, kept)
                self.output.write(result)
            with steps.track_step("count", spark):
                back = self.output.read(spark, result.schema)
                ids = F.col(quote_identifier(self.matches_column))
                matched = back.select((ids if self.writes_pairs else F.explode(ids)).alias("id"))
                figures = build_report(observation.get, matched, model)
        return figures, steps.seconds_by_step

    def _resolve_event_columns(self, events: DataFrame, subscriptions: DataFrame) -> list[str]:
        """The columns of events to keep, if all that was named is there."""
        wanted = [
            self.matcher_params[p] for p in ("idCol", "predicateCol", "validFromCol", "validToCol")
        ]
        check_columns(subscriptions, [name for name in wanted if name], "subscriptions")
        kept = events.columns if self.event_columns is None else self.event_columns
        time = self.matcher_params["eventTimeCol"]
        check_columns(events, [*kept, *([time] if time else [])], "events")
        if self.matches_column.lower() in map(str.lower, kept):
            raise InvalidArgumentError(
                f"the events have a column {self.matches_column!r} too: call the column of matched "
                "ids something else with --matches-column, or choose --columns without it"
            )
        return kept

    def _shape_output(self, match_lists: DataFrame, event_columns: list[str]) -> DataFrame:
        ids = F.col(_MATCH_LISTS)
        columns = [F.col(quote_identifier(name)) for name in event_columns]
        return match_lists.select(
            *columns, (F.explode(ids) if self.writes_pairs else ids).alias(self.matches_column)
        )
