"""The checks of `covey doctor`, each of which returns its findings as a DataFrame.

A DataFrame of findings has the columns kind, id, predicate, problem, line and column. The line and
the column are null unless the problem has a position in the predicate. An argument `facts` is the
result of `analyze_subscriptions`.
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
    """Names of the checks, which are values of the option `--check`."""

    REJECTED = "rejected"
    NEVER = "never"
    ABSENT = "absent"
    UNKNOWN_VALUE = "unknown-value"
    UNMATCHED = "unmatched"
    BROAD = "broad"
    DUPLICATE = "duplicate"


class CheckInfo(NamedTuple):
    """Heading and advice for a kind of finding, and whether it is a problem or only a hint.

    The exit code of the command is 1 if there are problems.
    """

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
        "add the attribute to the events, or remove the condition",
        True,
    ),
    CheckKind.UNKNOWN_VALUE: CheckInfo(
        "compares with a value that no event has", "correct the value", True
    ),
    CheckKind.UNMATCHED: CheckInfo(
        "matches no event of the sample", "check whether this is intended", False
    ),
    CheckKind.BROAD: CheckInfo(
        "matches too many events", "narrow it, unless this is intended", False
    ),
    CheckKind.DUPLICATE: CheckInfo(
        "means the same as another subscription of its owner", "keep one of them", False
    ),
}
"""All checks in the order in which their findings are printed, problems before hints."""


def find_rejected(rejected_subscriptions: DataFrame) -> DataFrame:
    """Return a finding for each row of `model.rejectedSubscriptions`, which cannot be read."""
    renamed = rejected_subscriptions.withColumnRenamed(rejected_subscriptions.columns[0], "id")
    return to_findings(CheckKind.REJECTED, renamed, F.col("error"), F.col("line"), F.col("column"))


def find_unsatisfiable(facts: DataFrame) -> DataFrame:
    """Return a finding for each subscription that no event can match."""
    problem = F.lit("its conditions exclude each other, or compare with null")
    return to_findings(CheckKind.NEVER, facts.where("is_never"), problem)


def find_duplicates(facts: DataFrame) -> DataFrame:
    """Return a finding for each subscription that repeats one with a smaller id.

    Both have the same owner, and their predicates mean the same.
    """
    same = Window.partitionBy("owner", "meaning").orderBy("id")
    known = facts.where("meaning IS NOT NULL").withColumn("first", F.first("id").over(same))
    is_bytes = isinstance(facts.schema["id"].dataType, BinaryType)
    first = F.lower(F.hex("first")) if is_bytes else F.col("first").cast("string")
    problem = F.concat(F.lit("means the same as "), first)
    return to_findings(CheckKind.DUPLICATE, known.where("id <> first"), problem)


def find_broad(
    facts: DataFrame, match_counts: DataFrame, max_match_share: float, event_count: int
) -> DataFrame:
    """Return a finding for each subscription that matches too many events of the sample.

    Args:
        facts: facts about the subscriptions.
        match_counts: columns `id` and `count`, the number of events that the subscription matches.
        max_match_share: largest share of the events that a subscription may match.
        event_count: number of events in the sample.
    """
    percent = F.format_number(100.0 * F.col("count") / event_count, 1)
    problem = F.concat(F.lit("matches "), percent, F.lit(f"% of {event_count:,} events"))
    return to_findings(
        CheckKind.BROAD,
        facts.join(match_counts.where(F.col("count") > max_match_share * event_count), "id"),
        problem,
    )


def find_null_attribute_conditions(facts: DataFrame, null_attributes: Sequence[str]) -> DataFrame:
    """Return a finding for each subscription that constrains an attribute in `null_attributes`.

    These attributes are null in all events.
    """
    which = F.array_intersect(
        "attributes", F.array(*map(F.lit, null_attributes)).cast("array<string>")
    )
    problem = F.concat(F.lit("no event has a value of "), F.array_join(which, ", "))
    return to_findings(CheckKind.ABSENT, facts.where(F.size(which) > 0), problem)


def to_findings(
    kind: CheckKind, frame: DataFrame, problem: Column, line: Column | None = None,
    column: Column | None = None,
) -> DataFrame:  # fmt: skip
    """Return a finding for each row of a DataFrame with the columns id and predicate.

    Args:
        kind: the check.
        frame: the DataFrame.
        problem: column with the text of the finding.
        line: column with the line of the problem in the predicate; None if there is none.
        column: column with the position of the problem in its line; None if there is none.
    """
    nowhere = F.lit(None).cast("int")
    return frame.select(
        F.lit(kind.value).alias("kind"),
        F.col(quote_identifier("id")),
        "predicate",
        problem.alias("problem"),
        (nowhere if line is None else line).alias("line"),
        (nowhere if column is None else column).alias("column"),
    )
