"""The work of `covey doctor`.

Spark's workers analyse each subscription alone, in one pass, and match all of them with a sample of
events; a few queries then compare subscriptions with each other. The findings are a DataFrame, so
that the driver needs memory only for those that are printed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from covey.cli.doctor import checks
from covey.cli.doctor.checks import CheckKind
from covey.cli.doctor.event_checks import count_matches_by_id, summarize_events
from covey.cli.doctor.subscription_facts import analyze_subscriptions
from covey.cli.doctor.value_suggestions import (
    MAX_VALUES,
    collect_text_values,
    find_unmatched,
    list_text_columns,
)
from covey.cli.io.columns import (
    check_columns,
    check_subscription_columns,
    read_events,
    read_header,
)
from covey.cli.io.sources import TableSource
from covey.cli.progress import StepProgress
from covey.spark import Matcher
from covey.sql_names import quote_identifier

__all__ = ["DoctorJob", "DoctorReport"]

_ON_MATCHES = {CheckKind.BROAD, CheckKind.UNMATCHED, CheckKind.UNKNOWN_VALUE}


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """The findings, their number by kind, and how many subscriptions and events were examined.

    A kind without findings is missing in `counts_by_kind`.
    """

    findings: DataFrame
    counts_by_kind: dict[str, int]
    subscription_count: int
    event_sample_text: str

    @property
    def problem_count(self) -> int:
        """The number of findings that are problems; the others are hints."""
        return sum(
            count
            for kind, count in self.counts_by_kind.items()
            if checks.CHECKS[CheckKind(kind)].is_problem
        )


@dataclass(frozen=True, slots=True)
class DoctorJob:
    """The tables to examine, the checks, and their limits.

    Args:
        kinds: the checks to run.
        owner_column: column of the subscriptions that names their owner; only subscriptions of the
            same owner are compared to find duplicates.
        max_match_share: share of the events above which a subscription is too broad.
        sample_size: approximate number of events that are matched; 0 for all. The check for null
            attributes always reads all events.
    """

    events: TableSource
    subscriptions: TableSource
    id_column: str
    predicate_column: str
    vector_lengths: dict[str, int]
    kinds: Collection[CheckKind]
    owner_column: str | None
    max_match_share: float
    sample_size: int
    store_path: str | None

    def check_headers(self) -> None:
        """Raise InvalidArgumentError if a local file is wrong; Spark is not needed."""
        self._check_columns(read_header(self.events), read_header(self.subscriptions))

    def run(self, spark: SparkSession, progress: StepProgress) -> DoctorReport:
        """Run the checks, and return their findings."""
        with progress.track_step("read", spark):
            events = read_events(self.events, spark, self.vector_lengths)
            subscriptions = self.subscriptions.read(spark)
            self._check_columns(events.columns, subscriptions.columns)
        with progress.track_step("fit", spark):
            model = Matcher(
                eventSchema=events.schema, idCol=self.id_column, predicateCol=self.predicate_column,
                eventCols=[], vectors=self.vector_lengths, storePath=self.store_path,
            ).fit(subscriptions)  # fmt: skip
        with progress.track_step("analyse", spark):
            space = model._state.space
            rejected = model.rejectedSubscriptions.cache()
            rejected_ids = rejected.select(F.col(quote_identifier(self.id_column)).alias("id"))
            facts = analyze_subscriptions(
                subscriptions, space, self.id_column, self.predicate_column, self.owner_column
            )
            facts = facts.join(rejected_ids, "id", "left_anti").cache()
            names = [row[0] for row in facts.select(F.explode("attributes")).distinct().collect()]
        with progress.track_step("try events", spark):
            text_columns = (
                list_text_columns(events, names) if CheckKind.UNKNOWN_VALUE in self.kinds else []
            )
            summary = summarize_events(
                events, [space[name] for name in names], text_columns, MAX_VALUES
            )
            problems = [
                checks.describe_unsatisfiable(),
                checks.describe_null_attributes(summary.null_attributes),
            ]
            if CheckKind.DUPLICATE in self.kinds:
                problems.append(checks.describe_duplicate(facts.schema["id"].dataType))
            parts = [checks.find_rejected(rejected)]
            event_count = summary.event_count
            if _ON_MATCHES & set(self.kinds):
                counts, event_count = count_matches_by_id(
                    model, events, event_count, self.sample_size
                )
                count = F.coalesce("count", F.lit(0)).alias("count")
                facts = facts.join(counts, "id", "left").select(*facts.columns, count).cache()
                problems.append(checks.describe_broad(self.max_match_share, event_count))
                values = collect_text_values(events, summary.enumerable_columns)
                unmatched = facts.where(checks.is_unmatched(summary.null_attributes))
                parts.append(find_unmatched(unmatched, values, space.limits, event_count))
            parts.append(checks.find_problems(facts, problems))
            chosen = [kind.value for kind in self.kinds]
            findings = reduce(DataFrame.unionByName, parts).where(F.col("kind").isin(chosen))
            findings = findings.cache()
            sums = {row["kind"]: row["count"] for row in findings.groupBy("kind").count().collect()}
        total = model.numSubscriptions + rejected.count()
        sampled = f"{event_count:,} of " if event_count < summary.event_count else ""
        return DoctorReport(findings, sums, total, f"{sampled}{summary.event_count:,} events")

    def _check_columns(
        self, event_columns: list[str] | None, subscription_columns: list[str] | None
    ) -> None:
        """Raise InvalidArgumentError if a table lacks a column; unknown columns are None."""
        owner = [] if self.owner_column is None else [self.owner_column]
        check_subscription_columns(
            self.subscriptions, subscription_columns, self.id_column, self.predicate_column, owner,
            event_columns=event_columns,
        )  # fmt: skip
        check_columns(self.events, event_columns, list(self.vector_lengths))
