"""The checks of `covey doctor`, each of which returns its findings as a DataFrame.

All findings have the columns kind, id, predicate, problem, line and column; line and column are
null unless the problem has a place in the predicate.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from covey.sql_names import quote_identifier

__all__ = [
    "CHECKS",
    "CheckInfo",
    "CheckKind",
    "find_broad",
    "find_duplicates",
    "find_null_attribute_conditions",
    "find_rejected",
    "find_unsatisfiable",
    "to_findings",
]


class CheckKind(StrEnum):
    """Names of the checks, as `--check` takes them."""

    REJECTED = "rejected"
    NEVER = "never"
    ABSENT = "absent"
    UNKNOWN_VALUE = "unknown-value"
    UNMATCHED = "unmatched"
    BROAD = "broad"
    DUPLICATE = "duplicate"


class CheckInfo(NamedTuple):
    """Heading and advice for a kind of finding; a problem makes the command exit with 1."""

    heading: str
    advice: str
    is_problem: bool


CHECKS = {
    CheckKind.REJECTED: CheckInfo(
        "cannot be read", "correct it; until then it matches nothing", True
    ),
    CheckKind.NEVER: CheckInfo("can never match", "correct it, or remove it", True),
    CheckKind.ABSENT: CheckInfo(
        "needs an attribute that is null in every event",
        "deliver the attribute, or leave the condition out",
        True,
    ),
    CheckKind.UNKNOWN_VALUE: CheckInfo(
        "compares with a value that no event has", "correct the value", True
    ),
    CheckKind.UNMATCHED: CheckInfo(
        "matches no event of the sample", "check that this is meant", False
    ),
    CheckKind.BROAD: CheckInfo("matches too much", "narrow it, unless that is meant", False),
    CheckKind.DUPLICATE: CheckInfo(
        "means the same as another subscription of its owner", "keep one of them", False
    ),
}
"""All checks, problems before hints, in the order in which they are printed."""


def find_rejected(rejected_subscriptions: DataFrame) -> DataFrame:
    """Return the subscriptions of `model.rejectedSubscriptions`, which cannot be read."""
    renamed = rejected_subscriptions.withColumnRenamed(rejected_subscriptions.columns[0], "id")
    return to_findings(CheckKind.REJECTED, renamed, F.col("error"), F.col("line"), F.col("column"))


def find_unsatisfiable(facts: DataFrame) -> DataFrame:
    """Return the subscriptions that no event can satisfy."""
    problem = F.lit("its conditions exclude each other, or compare with null")
    return to_findings(CheckKind.NEVER, facts.where("is_never"), problem)


def find_duplicates(facts: DataFrame) -> DataFrame:
    """Return the subscriptions that mean the same as one of their owner with a smaller id."""
    same = Window.partitionBy("owner", "meaning").orderBy("id")
    known = facts.where("meaning IS NOT NULL").withColumn("first", F.first("id").over(same))
    is_bytes = isinstance(facts.schema["id"].dataType, BinaryType)
    first = F.lower(F.hex("first")) if is_bytes else F.col("first").cast("string")
    problem = F.concat(F.lit("means the same as "), first)
    return to_findings(CheckKind.DUPLICATE, known.where("id <> first"), problem)


def find_broad(
    facts: DataFrame, match_counts: DataFrame, max_match_share: float, event_count: int
) -> DataFrame:
    """Return the subscriptions that match more than a share of the events of the sample.

    `match_counts` has the number of matched events by id.
    """
    percent = F.format_number(100.0 * F.col("count") / event_count, 1)
    problem = F.concat(F.lit("matches "), percent, F.lit(f"% of {event_count:,} events"))
    return to_findings(
        CheckKind.BROAD,
        facts.join(match_counts.where(F.col("count") > max_match_share * event_count), "id"),
        problem,
    )


def find_null_attribute_conditions(facts: DataFrame, null_attributes: Sequence[str]) -> DataFrame:
    """Return the subscriptions that constrain attributes which are null in all events."""
    which = F.array_intersect(
        "attributes", F.array(*map(F.lit, null_attributes)).cast("array<string>")
    )
    problem = F.concat(F.lit("no event carries "), F.array_join(which, ", "))
    return to_findings(CheckKind.ABSENT, facts.where(F.size(which) > 0), problem)


def to_findings(
    kind: CheckKind, frame: DataFrame, problem: Column, line: Column | None = None,
    column: Column | None = None,
) -> DataFrame:  # fmt: skip
    """Return the rows of a frame with id and predicate as findings."""
    nowhere = F.lit(None).cast("int")
    return frame.select(
        F.lit(kind.value).alias("kind"),
        F.col(quote_identifier("id")),
        "predicate",
        problem.alias("problem"),
        (nowhere if line is None else line).alias("line"),
        (nowhere if column is None else column).alias("column"),
    )
