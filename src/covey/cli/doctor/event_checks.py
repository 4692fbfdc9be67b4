"""Events in `covey doctor`: attributes that are null in all, and a sample to match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from covey.cli.io.sources import repartition_small
from covey.space import Attribute
from covey.spark import MatcherModel
from covey.spark.schemas import select_attribute
from covey.sql_names import quote_identifier

__all__ = ["NullAttributes", "count_matches_by_id", "find_null_attributes"]

_SAMPLE_SEED = 0


@dataclass(frozen=True, slots=True)
class NullAttributes:
    """The number of events, and the attributes that are null in all of them."""

    event_count: int
    names: list[str]


def find_null_attributes(events: DataFrame, attributes: Sequence[Attribute]) -> NullAttributes:
    """Count values of attributes, derived ones included, in one pass over the events."""
    values = events.select(*(select_attribute(a).alias(f"a{n}") for n, a in enumerate(attributes)))
    row = values.agg(F.count(F.lit(1)), *(F.count(name) for name in values.columns)).collect()[0]
    counted = zip(attributes, row[1:], strict=True)
    return NullAttributes(row[0], sorted(one.name for one, count in counted if not count))


def count_matches_by_id(
    model: MatcherModel, events: DataFrame, event_count: int, sample_size: int
) -> tuple[DataFrame, int]:
    """Return the number of matched events by subscription id, and the number of tried events.

    If there are more events than `sample_size`, about that many are drawn, the same ones each time.
    """
    is_all = not sample_size or event_count <= sample_size
    tried = repartition_small(
        events if is_all else events.sample(sample_size / event_count, _SAMPLE_SEED)
    ).cache()
    ids = model.transform(tried)
    return ids.groupBy(F.col(quote_identifier(ids.columns[-1])).alias("id")).count(), tried.count()
