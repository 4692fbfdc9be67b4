"""Events as `covey doctor` looks at them: which attributes they carry, and a sample to match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from covey.cli.reading import spread
from covey.quoting import quoted
from covey.spark import MatcherModel

__all__ = ["Carried", "carried", "match_counts"]

_SEED = 0


@dataclass(frozen=True, slots=True)
class Carried:
    """How many events there are, and the attributes that are null in all of them."""

    events: int
    missing: list[str]


def carried(events: DataFrame, attributes: Sequence[str]) -> Carried:
    """Counts attributes, derived ones too, in one pass over the events."""
    columns = set(events.columns)
    values = [F.col(quoted(a)) if a in columns else F.expr(a) for a in attributes]
    row = events.agg(F.count(F.lit(1)), *(F.count(value) for value in values)).collect()[0]
    return Carried(row[0], [a for a, count in zip(attributes, row[1:], strict=True) if not count])


def match_counts(
    model: MatcherModel, events: DataFrame, total: int, sample: int
) -> tuple[DataFrame, int]:
    """How many events each subscription matches, by id, and how many were tried.

    If there are more events than `sample`, about that many of them, drawn at random but the same
    ones every time.
    """
    is_all = not sample or total <= sample
    tried = spread(events if is_all else events.sample(sample / total, _SEED)).cache()
    ids = model.transform(tried)
    return ids.groupBy(F.col(quoted(ids.columns[-1])).alias("id")).count(), tried.count()
