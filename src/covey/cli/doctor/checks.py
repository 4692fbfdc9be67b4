"""The checks of `covey doctor`, as columns over the facts about subscriptions.

Facts are the result of `analyze_subscriptions` and, for checks of matches, the column `count`: the
number of events of the sample that the subscription matches. A problem is a struct of the kind and
a text; it is null for a subscription without this problem. A DataFrame of findings has the columns
kind, id, predicate, problem, line and column. The line and the column are null unless the problem
has a position in the predicate.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType

from covey.sql_names import quote_identifier

__all__ = [
    "CHECKS",
    "CheckInfo",
    "CheckKind",
    "describe_broad",
    "describe_duplicate",
    "describe_null_attributes",
    "describe_unsatisfiable",
    "find_problems",
    "find_rejected",
    "is_unmatched",
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
    return rejected_subscriptions.select(
        F.lit(CheckKind.REJECTED.value).alias("kind"),
        F.col(quote_identifier(rejected_subscriptions.columns[0])).alias("id"),
        "predicate",
        F.col("error").alias("problem"),
        "line",
        "column",
    )


def find_problems(facts: DataFrame, problems: Sequence[Column]) -> DataFrame:
    """Return a finding for each problem of each subscription, in one pass.

    Args:
        facts: facts about the subscriptions.
        problems: results of the functions below, which are null for subscriptions without problem.
    """
    described = facts.select("id", "predicate", F.array(*problems).alias("problems"))
    found = F.explode(F.filter("problems", lambda problem: problem.isNotNull()))
    return described.select("id", "predicate", found.alias("found")).select(
        F.col("found.kind").alias("kind"),
        "id",
        "predicate",
        F.col("found.problem").alias("problem"),
        F.lit(None).cast("int").alias("line"),
        F.lit(None).cast("int").alias("column"),
    )


def describe_unsatisfiable() -> Column:
    """Return the problem of a subscription that no event can match."""
    problem = F.lit("no event satisfies all of its conditions")
    return _describe(CheckKind.NEVER, F.col("is_never"), problem)


def describe_null_attributes(null_attributes: Sequence[str]) -> Column:
    """Return the problem of a subscription that constrains an attribute in `null_attributes`.

    These attributes are null in all events.
    """
    which = F.array_intersect("attributes", _to_array(null_attributes))
    problem = F.concat(F.lit("no event has a value of "), F.array_join(which, ", "))
    return _describe(CheckKind.ABSENT, F.size(which) > 0, problem)


def describe_broad(max_match_share: float, event_count: int) -> Column:
    """Return the problem of a subscription that matches too many events of the sample.

    Args:
        max_match_share: largest share of the events that a subscription may match.
        event_count: number of events in the sample.
    """
    percent = F.format_number(100.0 * F.col("count") / event_count, 1)
    problem = F.concat(F.lit("matches "), percent, F.lit(f"% of {event_count:,} events"))
    return _describe(CheckKind.BROAD, F.col("count") > max_match_share * event_count, problem)


def describe_duplicate(id_type: DataType) -> Column:
    """Return the problem of a subscription that repeats one with a smaller id.

    Both have the same owner, and their predicates mean the same.
    """
    same = Window.partitionBy("owner", "meaning").orderBy("id")
    first = F.first("id").over(same)
    text = F.lower(F.hex(first)) if isinstance(id_type, BinaryType) else first.cast("string")
    is_duplicate = F.col("meaning").isNotNull() & (F.col("id") != first)
    return _describe(CheckKind.DUPLICATE, is_duplicate, F.concat(F.lit("means the same as "), text))


def is_unmatched(null_attributes: Sequence[str]) -> Column:
    """Return whether a subscription matches no event of the sample for no other known reason.

    Args:
        null_attributes: attributes that are null in all events.
    """
    is_null = F.arrays_overlap("attributes", _to_array(null_attributes))
    return (F.col("count") == 0) & ~F.col("is_never") & ~is_null


def _describe(kind: CheckKind, is_found: Column, problem: Column) -> Column:
    found = F.struct(F.lit(kind.value).alias("kind"), problem.alias("problem"))
    return F.when(is_found, found)


def _to_array(names: Sequence[str]) -> Column:
    return F.array(*map(F.lit, names)).cast("array<string>")
