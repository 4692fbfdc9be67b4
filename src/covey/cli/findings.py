"""What may be the matter with subscriptions: five kinds, each found as a DataFrame.

All have the columns kind, id, predicate, problem, line and column, the last two null unless a place
in the predicate is meant.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from covey.quoting import quoted

__all__ = ["ADVICE", "absent", "broad", "duplicate", "never", "rejected"]

ADVICE = {
    "rejected": ("cannot be read", "correct it; until then it matches nothing"),
    "never": ("can never match", "correct it, or remove it"),
    "duplicate": ("means the same as another", "keep one of them"),
    "broad": ("matches too much", "narrow it, unless that is meant"),
    "absent": ("asks for what no event carries", "deliver it, or leave the condition out"),
}
"""For each kind what is the matter, and what to do about it."""


def rejected(refused: DataFrame) -> DataFrame:
    """Subscriptions that the matcher does not take, from `model.rejected`."""
    renamed = refused.withColumnRenamed(refused.columns[0], "id")
    return _found("rejected", renamed, F.col("error"), F.col("line"), F.col("column"))


def never(facts: DataFrame) -> DataFrame:
    """Those that no event can satisfy."""
    problem = F.lit("its conditions exclude each other, or compare with null")
    return _found("never", facts.where("is_never"), problem)


def duplicate(facts: DataFrame) -> DataFrame:
    """Those that mean the same as one with a smaller id."""
    same = Window.partitionBy("meaning").orderBy("id")
    known = facts.where("meaning IS NOT NULL").withColumn("first", F.first("id").over(same))
    is_bytes = isinstance(facts.schema["id"].dataType, BinaryType)
    first = F.lower(F.hex("first")) if is_bytes else F.col("first").cast("string")
    problem = F.concat(F.lit("means the same as "), first)
    return _found("duplicate", known.where("id <> first"), problem)


def broad(facts: DataFrame, counts: DataFrame, share: float, tried: int) -> DataFrame:
    """Those that match more than a share of the events that were tried; `counts` is by id."""
    percent = F.format_number(100.0 * F.col("count") / tried, 1)
    problem = F.concat(F.lit("matches "), percent, F.lit(f"% of {tried:,} events"))
    return _found("broad", facts.join(counts.where(F.col("count") > share * tried), "id"), problem)


def absent(facts: DataFrame, missing: Sequence[str]) -> DataFrame:
    """Those that constrain attributes which are null in all events."""
    which = F.array_intersect("attributes", F.array(*map(F.lit, missing)).cast("array<string>"))
    problem = F.concat(F.lit("no event carries "), F.array_join(which, ", "))
    return _found("absent", facts.where(F.size(which) > 0), problem)


def _found(
    kind: str, frame: DataFrame, problem: Column, line: Column | None = None,
    column: Column | None = None,
) -> DataFrame:  # fmt: skip
    nowhere = F.lit(None).cast("int")
    return frame.select(
        F.lit(kind).alias("kind"),
        F.col(quoted("id")),
        "predicate",
        problem.alias("problem"),
        (nowhere if line is None else line).alias("line"),
        (nowhere if column is None else column).alias("column"),
    )
