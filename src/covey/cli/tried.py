"""Events as `covey doctor` looks at them: which attributes they carry, and a sample to match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from covey.cli.reading import spread
from covey.quoting import quoted
from covey.space import Attribute
from covey.spark import MatcherModel
from covey.spark.schemas import derived_or_column

__all__ = ["Carried", "carried", "match_counts"]

_SEED = 0


@dataclass(frozen=True, slots=True)
class Carried:
    """How many events there are, and the attributes that are null in all of them."""

    events: int
    missing: list[str]


def carried(events: DataFrame, attributes: Sequence[Attribute]) -> Carried:
    """Counts attributes, derived ones too, in one pass over the events."""
    values = events.select(*(derived_or_column(a).alias(f"a{n}") for n, a in enumerate(attributes)))
    row = values.agg(F.count(F.lit(1)), *(F.count(name) for name in values.columns)).collect()[0]
    counted = zip(attributes, row[1:], strict=True)
    return Carried(row[0], sorted(one.name for one, count in counted if not count))


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
