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
from covey.cli.doctor.event_checks import count_matches_by_id, find_null_attributes
from covey.cli.doctor.subscription_facts import analyze_subscriptions
from covey.cli.doctor.value_suggestions import collect_text_values, find_unknown_values
from covey.cli.io.sources import TableSource, cast_vectors_to_float, check_columns
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

    def run(self, spark: SparkSession, progress: StepProgress) -> DoctorReport:
        """Run the checks, and return their findings."""
        with progress.track_step("read", spark):
            events = cast_vectors_to_float(self.events.read(spark), self.vector_lengths)
            subscriptions = self.subscriptions.read(spark)
            names = [self.id_column, self.predicate_column]
            owner = [] if self.owner_column is None else [self.owner_column]
            check_columns(subscriptions, [*names, *owner], "subscriptions")
        with progress.track_step("fit", spark):
            model = Matcher(
                eventSchema=events.schema, idCol=self.id_column, predicateCol=self.predicate_column,
                eventCols=[], vectors=self.vector_lengths, storePath=self.store_path,
            ).fit(subscriptions)  # fmt: skip
        with progress.track_step("analyse", spark):
            space = model._state.space
            refused = model.rejectedSubscriptions
            known = analyze_subscriptions(
                subscriptions, space, self.id_column, self.predicate_column, self.owner_column
            ).join(
                refused.select(F.col(quote_identifier(self.id_column)).alias("id")),
                "id",
                "left_anti",
            )
            known = known.cache()
            attributes = known.select(F.explode("attributes")).distinct().collect()
        with progress.track_step("try events", spark):
            seen = find_null_attributes(events, [space[row[0]] for row in attributes])
            kinds = [
                checks.find_rejected(refused),
                checks.find_unsatisfiable(known),
                checks.find_null_attribute_conditions(known, seen.names),
                checks.find_duplicates(known),
            ]
            event_count = seen.event_count
            if _ON_MATCHES & set(self.kinds):
                counts, event_count = count_matches_by_id(
                    model, events, seen.event_count, self.sample_size
                )
                kinds.append(checks.find_broad(known, counts, self.max_match_share, event_count))
                unmatched = known.join(counts, "id", "left_anti").where(
                    ~F.col("is_never")
                    & ~F.arrays_overlap(
                        "attributes", F.array(*map(F.lit, seen.names)).cast("array<string>")
                    )
                )
                values = {}
                if CheckKind.UNKNOWN_VALUE in self.kinds:
                    values = collect_text_values(events, [row[0] for row in attributes])
                wrong = find_unknown_values(unmatched, values, space.limits).cache()
                kinds.append(
                    checks.to_findings(
                        CheckKind.UNKNOWN_VALUE, wrong, F.col("problem"), F.col("line"),
                        F.col("column"),
                    )
                )  # fmt: skip
                problem = F.lit(f"matches none of {event_count:,} events")
                others = unmatched.join(wrong.select("id"), "id", "left_anti")
                kinds.append(checks.to_findings(CheckKind.UNMATCHED, others, problem))
            chosen = [kind.value for kind in self.kinds]
            found = reduce(DataFrame.unionByName, kinds).where(F.col("kind").isin(chosen)).cache()
            sums = {row["kind"]: row["count"] for row in found.groupBy("kind").count().collect()}
        total = model.numSubscriptions + refused.count()
        sampled = f"{event_count:,} of " if event_count < seen.event_count else ""
        return DoctorReport(found, sums, total, f"{sampled}{seen.event_count:,} events")
