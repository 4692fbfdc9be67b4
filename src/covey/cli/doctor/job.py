"""The work of `covey doctor`.

Workers look at each subscription by itself, in one pass, and match all of them with some events;
then there are a few questions to the whole set. Nothing is done one by one on the driver, and what
is found stays with Spark until someone prints it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from covey.cli.doctor import checks
from covey.cli.doctor.event_checks import count_matches_by_id, find_null_attributes
from covey.cli.doctor.subscription_facts import analyze_subscriptions
from covey.cli.io.sources import TableSource, cast_vectors_to_float, check_columns
from covey.cli.progress import StepProgress
from covey.spark import Matcher
from covey.sql_names import quote_identifier

__all__ = ["DoctorJob", "DoctorReport"]


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What was found, as `findings` has it, how much of each kind, and what was looked at."""

    findings: DataFrame
    counts_by_kind: dict[str, int]
    subscription_count: int
    event_sample_text: str


@dataclass(frozen=True, slots=True)
class DoctorJob:
    """What to look at: all subscriptions, all events for nulls and about `sample` for matches."""

    events: TableSource
    subscriptions: TableSource
    id_column: str
    predicate_column: str
    vector_lengths: dict[str, int]
    max_match_share: float
    sample_size: int
    store_path: str | None

    def run(self, spark: SparkSession, progress: StepProgress) -> DoctorReport:
        """Looks at everything."""
        with progress.track_step("read", spark):
            events = cast_vectors_to_float(self.events.read(spark), self.vector_lengths)
            subscriptions = self.subscriptions.read(spark)
            names = [self.id_column, self.predicate_column]
            check_columns(subscriptions, names, "subscriptions")
        with progress.track_step("fit", spark):
            model = Matcher(
                eventSchema=events.schema, idCol=self.id_column, predicateCol=self.predicate_column,
                eventCols=[], vectors=self.vector_lengths, storePath=self.store_path,
            ).fit(subscriptions)  # fmt: skip
        with progress.track_step("look at each", spark):
            space = model._state.space
            refused = model.rejectedSubscriptions
            known = analyze_subscriptions(subscriptions, space, *names).join(
                refused.select(F.col(quote_identifier(self.id_column)).alias("id")),
                "id",
                "left_anti",
            )
            known = known.cache()
            attributes = known.select(F.explode("attributes")).distinct().collect()
        with progress.track_step("try events", spark):
            seen = find_null_attributes(events, [space[row[0]] for row in attributes])
            counts, tried = count_matches_by_id(model, events, seen.event_count, self.sample_size)
            kinds = [
                checks.find_rejected(refused),
                checks.find_unsatisfiable(known),
                checks.find_duplicates(known),
                checks.find_broad(known, counts, self.max_match_share, tried),
                checks.find_null_attribute_conditions(known, seen.names),
            ]
            found = reduce(DataFrame.unionByName, kinds).cache()
            sums = {row["kind"]: row["count"] for row in found.groupBy("kind").count().collect()}
        total = model.numSubscriptions + sums.get("rejected", 0)
        sampled = f"{tried:,} of " if tried < seen.event_count else ""
        return DoctorReport(found, sums, total, f"{sampled}{seen.event_count:,} events")
