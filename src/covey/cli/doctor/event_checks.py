"""What `covey doctor` finds in events: their columns in general, and the matches of a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from covey.cli.io.sources import repartition_small
from covey.space import Attribute
from covey.spark import MatcherModel
from covey.spark.schemas import select_attribute, select_column
from covey.sql_names import quote_identifier

__all__ = ["EventSummary", "count_matches_by_id", "summarize_events"]

_SAMPLE_SEED = 0


@dataclass(frozen=True, slots=True)
class EventSummary:
    """The number of events, and the columns that are always null or have few different values.

    Attributes:
        event_count: number of events.
        null_attributes: attributes that are null in all events, in alphabetical order.
        enumerable_columns: columns that have few different values.
    """

    event_count: int
    null_attributes: list[str]
    enumerable_columns: list[str]


def summarize_events(
    events: DataFrame, attributes: Sequence[Attribute], text_columns: Sequence[str],
    max_distinct: int,
) -> EventSummary:  # fmt: skip
    """Count the events and the values of their columns, in one pass.

    Args:
        events: the events.
        attributes: attributes that may be null in all events; they may be derived.
        text_columns: columns that may have few different values.
        max_distinct: number of different values up to which a column is enumerable. It is compared
            with an estimate, whose error is about 5%.
    """
    values = [select_attribute(a).alias(f"a{n}") for n, a in enumerate(attributes)]
    texts = [select_column(name).alias(f"t{n}") for n, name in enumerate(text_columns)]
    row = events.select(*values, *texts).agg(
        F.count(F.lit(1)),
        *(F.count(f"a{n}") for n in range(len(values))),
        *(F.approx_count_distinct(f"t{n}") for n in range(len(texts))),
    ).collect()[0]  # fmt: skip
    event_count, counts, estimates = row[0], row[1 : len(values) + 1], row[len(values) + 1 :]
    names = [one.name for one in attributes]
    return EventSummary(
        event_count,
        sorted(name for name, count in zip(names, counts, strict=True) if not count),
        [name for name, n in zip(text_columns, estimates, strict=True) if n <= max_distinct],
    )


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
