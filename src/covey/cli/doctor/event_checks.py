"""What `covey doctor` finds in events: attributes that are always null, and matches of a sample."""

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
    """Count the events, and find the attributes that are null in all of them, in one pass.

    Attributes may be derived.
    """
    values = events.select(*(select_attribute(a).alias(f"a{n}") for n, a in enumerate(attributes)))
    row = values.agg(F.count(F.lit(1)), *(F.count(name) for name in values.columns)).collect()[0]
    counted = zip(attributes, row[1:], strict=True)
    return NullAttributes(row[0], sorted(one.name for one, count in counted if not count))


def count_matches_by_id(
    model: MatcherModel, events: DataFrame, event_count: int, sample_size: int
) -> tuple[DataFrame, int]:
    """Match a sample of the events, and count the matches of each subscription.

    If there are more events than `sample_size`, about that many are drawn at random, the same ones
    each time. With a `sample_size` of 0, all events are matched.

    Returns:
        A DataFrame with the columns `id` and `count`, without subscriptions that match no event of
        the sample; and the number of events in the sample.
    """
    is_all = not sample_size or event_count <= sample_size
    tried = repartition_small(
        events if is_all else events.sample(sample_size / event_count, _SAMPLE_SEED)
    ).cache()
    ids = model.transform(tried)
    return ids.groupBy(F.col(quote_identifier(ids.columns[-1])).alias("id")).count(), tried.count()
