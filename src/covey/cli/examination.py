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

from covey.cli import findings
from covey.cli.facts import facts
from covey.cli.progress import Steps
from covey.cli.reading import Source, check_columns, with_floats
from covey.cli.tried import carried, match_counts
from covey.quoting import quoted
from covey.spark import Matcher

__all__ = ["Diagnosis", "Examination"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found, as `findings` has it, how much of each kind, and what was looked at."""

    found: DataFrame
    counts: dict[str, int]
    subscriptions: int
    tried: str


@dataclass(frozen=True, slots=True)
class Examination:
    """What to look at: all subscriptions, all events for nulls and about `sample` for matches."""

    events: Source
    subscriptions: Source
    id_name: str
    predicate_name: str
    vectors: dict[str, int]
    share: float
    sample: int
    store: str | None

    def diagnosis(self, spark: SparkSession, steps: Steps) -> Diagnosis:
        """Looks at everything."""
        with steps.step("read", spark):
            events = with_floats(self.events.read(spark), self.vectors)
            subscriptions = self.subscriptions.read(spark)
            names = [self.id_name, self.predicate_name]
            check_columns(subscriptions, names, "subscriptions")
        with steps.step("fit", spark):
            model = Matcher(
                eventSchema=events.schema, idCol=self.id_name, predicateCol=self.predicate_name,
                eventCols=[], vectors=self.vectors, storePath=self.store,
            ).fit(subscriptions)  # fmt: skip
        with steps.step("look at each", spark):
            space = model.fitted.space
            refused = model.rejected
            known = facts(subscriptions, space, *names).join(
                refused.select(F.col(quoted(self.id_name)).alias("id")), "id", "left_anti"
            )
            known = known.cache()
            attributes = known.select(F.explode("attributes")).distinct().collect()
        with steps.step("try events", spark):
            seen = carried(events, [space[row[0]] for row in attributes])
            counts, tried = match_counts(model, events, seen.events, self.sample)
            kinds = [
                findings.rejected(refused),
                findings.never(known),
                findings.duplicate(known),
                findings.broad(known, counts, self.share, tried),
                findings.absent(known, seen.missing),
            ]
            found = reduce(DataFrame.unionByName, kinds).cache()
            sums = {row["kind"]: row["count"] for row in found.groupBy("kind").count().collect()}
        total = model.subscriptions + sums.get("rejected", 0)
        sampled = f"{tried:,} of " if tried < seen.events else ""
        return Diagnosis(found, sums, total, f"{sampled}{seen.events:,} events")
