"""The work of `covey match`: read, fit, match and write, then count.

Matches are counted by Spark's `observe` while they are written, so that nothing is matched twice.
To make this possible, the model returns a list of ids for each event; if pairs are written, they
are made of the lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from covey.cli.io.columns import (
    check_columns,
    check_subscription_columns,
    read_events,
    read_header,
)
from covey.cli.io.sources import TableSource, split_for_matching
from covey.cli.io.targets import TableTarget
from covey.cli.match.report import MatchReport, build_aggregates, build_report
from covey.cli.match.size_estimate import MatchEstimate, estimate_matches
from covey.cli.progress import StepProgress
from covey.cli.rejections import Rejections
from covey.cli.session import SessionLauncher
from covey.errors import InvalidArgumentError
from covey.spark import Matcher
from covey.sql_names import quote_identifier

__all__ = ["MatchJob"]

_MATCH_LISTS = "covey_matches"  # column with the list of the matched ids of an event


@dataclass(frozen=True, slots=True)
class MatchJob:
    """One run of `covey match`.

    Args:
        matches_column: name of the output column with matched ids.
        event_columns: columns of events to write; None for all.
        vector_lengths: length of the vectors in each column of vectors.
        matcher_params: parameters of the `Matcher` that are known before the tables are read.
        allows_no_subscription: whether to match, and write an empty result, even if all
            subscriptions are rejected.
        max_rows: largest number of rows to write; None for all.
        confirm: function that is called with the estimated number of matches before anything is
            written. It raises an error if the result must not be written. The number is not
            estimated if `confirm` is None or if `max_rows` limits the result.
    """

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
    allows_no_subscription: bool = False
    max_rows: int | None = None
    confirm: Callable[[MatchEstimate], None] | None = None

    def run(self) -> tuple[MatchReport, dict[str, float]]:
        """Match, and write the result; return the counts, and the seconds that each step took."""
        self._check_columns(read_header(self.events), read_header(self.subscriptions))
        with StepProgress() as steps, ExitStack() as stack:
            with steps.track_step("start Spark"):
                spark = stack.enter_context(self.launcher.launch())
            with steps.track_step("read", spark):
                events = read_events(self.events, spark, self.vector_lengths)
                subscriptions = self.subscriptions.read(spark)
                self._check_columns(events.columns, subscriptions.columns)
                kept = events.columns if self.event_columns is None else self.event_columns
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
                rejections = Rejections.from_model(model)
            if rejections.count and not (model.numSubscriptions or self.allows_no_subscription):
                return MatchReport.without_matches(rejections, model), steps.seconds_by_step
            with steps.track_step("estimate", spark):
                estimate = MatchEstimate(events.count())
                if self.confirm is not None and self.max_rows is None:
                    estimate = estimate_matches(model, events, estimate.events, _MATCH_LISTS)
            if self.confirm is not None:
                with steps.pause():
                    self.confirm(estimate)
            with steps.track_step("match and write", spark, event_count=estimate.events):
                observation = Observation()
                split = split_for_matching(events, estimate.events, estimate.matches or 0)
                lists = model.transform(split).observe(observation, *build_aggregates(_MATCH_LISTS))
                result = self._shape_output(lists, kept)
                if self.max_rows is not None:
                    result = result.limit(self.max_rows)
                self.output.write(result)
            with steps.track_step("count", spark):
                back = self.output.read(spark, result.schema)
                is_cut = self.max_rows is not None and back.count() >= self.max_rows
                ids = F.col(quote_identifier(self.matches_column))
                matched = back.select((ids if self.writes_pairs else F.explode(ids)).alias("id"))
                report = build_report(
                    observation.get, matched, model, rejections,
                    cut_events=estimate.events if is_cut else None,
                )  # fmt: skip
        return report, steps.seconds_by_step

    def _check_columns(
        self, event_columns: list[str] | None, subscription_columns: list[str] | None
    ) -> None:
        """Check the names in options against the columns of the tables; None means unknown.

        Raises:
            InvalidArgumentError: a table lacks a column that an option names, or the column with
                matched ids has the name of another column to write.
        """
        params = self.matcher_params
        validity = [name for name in (params["validFromCol"], params["validToCol"]) if name]
        check_subscription_columns(
            self.subscriptions, subscription_columns, params["idCol"], params["predicateCol"],
            validity, event_columns=event_columns,
        )  # fmt: skip
        kept = event_columns if self.event_columns is None else self.event_columns
        time = [params["eventTimeCol"]] if params["eventTimeCol"] else []
        check_columns(self.events, event_columns, [*(kept or ()), *time, *self.vector_lengths])
        if self.matches_column.lower() in map(str.lower, kept or ()):
            raise InvalidArgumentError(
                f"the events already have a column {self.matches_column!r}, which is also the name "
                "of the column with matched ids: give that column another name with "
                f"--matches-column, or leave {self.matches_column!r} out of --columns"
            )

    def _shape_output(self, match_lists: DataFrame, event_columns: list[str]) -> DataFrame:
        ids = F.col(_MATCH_LISTS)
        columns = [F.col(quote_identifier(name)) for name in event_columns]
        return match_lists.select(
            *columns, (F.explode(ids) if self.writes_pairs else ids).alias(self.matches_column)
        )
