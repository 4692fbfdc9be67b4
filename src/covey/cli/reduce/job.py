"""The work of `covey reduce`: read, reduce, write, then count and draw."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from covey.cli.io.columns import (
    check_columns,
    check_subscription_columns,
    read_events,
    read_header,
)
from covey.cli.io.sources import TableSource
from covey.cli.progress import StepProgress
from covey.cli.reduce.output_folder import PLOT_FILE, SUMMARY_FILE, OutputFolder
from covey.cli.reduce.report import ReductionReport, build_report
from covey.cli.session import SessionLauncher
from covey.spark import ReductionResult, reduce_subscriptions
from covey.sql_names import quote_identifier

__all__ = ["ReduceJob"]

_ACTIVE_ID_COLUMN = "covey_active"  # ids of active subscriptions, beside the user's columns


@dataclass(frozen=True, slots=True)
class ReduceJob:
    """One run of `covey reduce`.

    Args:
        max_false_positive_rate: largest share of the events that filters may forward although no
            subscription matches them.
        max_subtractions: largest number of subtractions of other regions from pieces of a region.
        owner_column: column with the owner of a subscription; None if there is none.
        draws_plot: whether to draw the picture.
        vector_lengths: length of the vectors in each column of vectors.
        reduce_params: further parameters of `covey.spark.reduce_subscriptions`.
    """

    subscriptions: TableSource
    events: TableSource
    output_folder: OutputFolder
    max_false_positive_rate: float
    max_subtractions: int
    owner_column: str | None
    draws_plot: bool
    vector_lengths: dict[str, int]
    reduce_params: Mapping[str, Any]
    launcher: SessionLauncher

    def run(self) -> tuple[ReductionReport, dict[str, float]]:
        """Reduce the subscriptions, and write the result.

        Returns:
            The counts, and the seconds that each step took.
        """
        self._check_columns(read_header(self.events), read_header(self.subscriptions))
        with StepProgress() as steps, ExitStack() as stack:
            with steps.track_step("start Spark"):
                spark = stack.enter_context(self.launcher.launch())
            with steps.track_step("read", spark):
                events = read_events(self.events, spark, self.vector_lengths)
                subscriptions = self.subscriptions.read(spark)
                self._check_columns(events.columns, subscriptions.columns)
            with steps.track_step("reduce", spark):
                made = reduce_subscriptions(
                    subscriptions,
                    sample=events,
                    max_false_positive_rate=self.max_false_positive_rate,
                    max_subtractions=self.max_subtractions,
                    eventSchema=events.schema,
                    vectors=self.vector_lengths,
                    **self.reduce_params,
                )
            with self.output_folder.open_draft(spark) as unfinished:
                with steps.track_step("write", spark):
                    unfinished.write_table("active", self._select_active(subscriptions, made))
                    unfinished.write_table("redundant", made.redundant)
                    unfinished.write_table("filters", made.filters)
                with steps.track_step("count", spark):
                    counts = build_report(made, subscriptions, self.owner_column)
                    unfinished.write_file(SUMMARY_FILE, self._encode_summary(counts))
                if self.draws_plot:
                    with steps.track_step("draw"):
                        from covey.cli.reduce.plot import draw_reduction

                        picture = draw_reduction(
                            counts.summary, counts.largest_owners, counts.statuses_by_attribute
                        )
                        if self.output_folder.plot_path is None:
                            unfinished.write_file(PLOT_FILE, picture)
                        else:
                            Path(self.output_folder.plot_path).write_bytes(picture)
        return counts, steps.seconds_by_step

    def _check_columns(
        self, event_columns: list[str] | None, subscription_columns: list[str] | None
    ) -> None:
        """Raise InvalidArgumentError if a table lacks a column; unknown columns are None."""
        owner = [] if self.owner_column is None else [self.owner_column]
        params = self.reduce_params
        check_subscription_columns(
            self.subscriptions, subscription_columns, params["idCol"], params["predicateCol"],
            owner, event_columns=event_columns,
        )  # fmt: skip
        check_columns(self.events, event_columns, list(self.vector_lengths))

    def _select_active(self, subscriptions: DataFrame, reduction: ReductionResult) -> DataFrame:
        """Return the rows of active subscriptions, with all columns of the user's table."""
        ids = reduction.active.toDF(_ACTIVE_ID_COLUMN)
        is_same = F.col(quote_identifier(self.reduce_params["idCol"])) == F.col(_ACTIVE_ID_COLUMN)
        return subscriptions.join(ids, is_same, "left_semi")

    def _encode_summary(self, report: ReductionReport) -> bytes:
        s = report.summary
        found = {
            "line": report.headline,
            "added": self.max_false_positive_rate,
            "subtractions": self.max_subtractions,
            **asdict(s),
            "active_subscriptions": s.subscriptions - s.redundant,
            "active": s.active,
            "filters": s.filters,
            "false_share": s.false_share,
            "false_share_of_forwarded": s.false_share_of_forwarded,
            "rejected": report.rejections.count,
            "by_attribute": report.statuses_by_attribute,
            "seconds": report.seconds_by_step,
        }
        if self.owner_column is not None:
            found["largest_owners"] = report.largest_owners
            found["most_redundant_owners"] = report.most_redundant_owners
        return json.dumps(found, indent=1, ensure_ascii=False).encode()
