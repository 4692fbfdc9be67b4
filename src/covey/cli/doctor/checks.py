"""What may be the matter with subscriptions: five kinds, each found as a DataFrame.

All have the columns kind, id, predicate, problem, line and column, the last two null unless a place
in the predicate is meant.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from covey.sql_names import quote_identifier

__all__ = [
    "ADVICE_BY_KIND",
    "find_broad",
    "find_duplicates",
    "find_null_attribute_conditions",
    "find_rejected",
    "find_unsatisfiable",
]

ADVICE_BY_KIND = {
    "rejected": ("cannot be read", "correct it; until then it matches nothing"),
    "never": ("can never match", "correct it, or remove it"),
    "duplicate": ("means the same as another", "keep one of them"),
    "broad": ("matches too much", "narrow it, unless that is meant"),
    "absent": ("asks for what no event carries", "deliver it, or leave the condition out"),
}
"""For each kind what is the matter, and what to do about it."""


def find_rejected(rejected_subscriptions: DataFrame) -> DataFrame:
    """Subscriptions that the matcher does not take, from `model.rejectedSubscriptions`."""
    renamed = rejected_subscriptions.withColumnRenamed(rejected_subscriptions.columns[0], "id")
    return _to_findings("rejected", renamed, F.col("error"), F.col("line"), F.col("column"))


def find_unsatisfiable(facts: DataFrame) -> DataFrame:
    """Those that no event can satisfy."""
    problem = F.lit("its conditions exclude each other, or compare with null")
    return _to_findings("never", facts.where("is_never"), problem)


def find_duplicates(facts: DataFrame) -> DataFrame:
    """Those that mean the same as one with a smaller id."""
    same = Window.partitionBy("meaning").orderBy("id")
    known = facts.where("meaning IS NOT NULL").withColumn("first", F.first("id").over(same))
    is_bytes = isinstance(facts.schema["id"].dataType, BinaryType)
    first = F.lower(F.hex("first")) if is_bytes else F.col("first").cast("string")
    problem = F.concat(F.lit("means the same as "), first)
    return _to_findings("duplicate", known.where("id <> first"), problem)


def find_broad(
    facts: DataFrame, match_counts: DataFrame, max_match_share: float, event_count: int
) -> DataFrame:
    """Those that match more than a share of the events that were tried; `counts` is by id."""
    percent = F.format_number(100.0 * F.col("count") / event_count, 1)
    problem = F.concat(F.lit("matches "), percent, F.lit(f"% of {event_count:,} events"))
    return _to_findings(
        "broad",
        facts.join(match_counts.where(F.col("count") > max_match_share * event_count), "id"),
        problem,
    )


def find_null_attribute_conditions(facts: DataFrame, null_attributes: Sequence[str]) -> DataFrame:
    """Those that constrain attributes which are null in all events."""
    which = F.array_intersect(
        "attributes", F.array(*map(F.lit, null_attributes)).cast("array<string>")
    )
    problem = F.concat(F.lit("no event carries "), F.array_join(which, ", "))
    return _to_findings("absent", facts.where(F.size(which) > 0), problem)


def _to_findings(
    kind: str, frame: DataFrame, problem: Column, line: Column | None = None,
    column: Column | None = None,
) -> DataFrame:  # fmt: skip
    nowhere = F.lit(None).cast("int")
    return frame.select(
        F.lit(kind).alias("kind"),
        F.col(quote_identifier("id")),
        "predicate",
        problem.alias("problem"),
        (nowhere if line is None else line).alias("line"),
        (nowhere if column is None else column).alias("column"),
    )
