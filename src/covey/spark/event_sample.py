"""Sample of the events in a DataFrame; the choice does not depend on partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from covey.errors import SchemaError
from covey.space import Events, Space
from covey.spark.schemas import check_event_columns
from covey.spark.validity import VALIDITY

__all__ = ["sample_events"]


def sample_events(
    events: DataFrame,
    space: Space,
    attributes: Sequence[str],
    select_attribute: Callable[[str], Column],
    max_events: int,
) -> Events:
    """Return the events with the smallest hashes of their attributes, as a sample.

    The sample is the same however the events are partitioned.

    Args:
        events: the events.
        space: the space of the sample.
        attributes: names of the attributes that the sample contains.
        select_attribute: function from the name of an attribute to the expression with which Spark
            computes it.
        max_events: largest number of events in the sample.

    Raises:
        SchemaError: the events lack a column of an attribute, or the column has another type than
            the attribute.
    """
    try:
        check_event_columns(space, [n for n in attributes if n != VALIDITY], events.schema)
    except SchemaError as error:
        raise SchemaError(f"the event sample does not fit the subscriptions: {error}") from None
    columns = [select_attribute(name).alias(f"c{i}") for i, name in enumerate(attributes)]
    hashed = events.select(*columns).orderBy(F.xxhash64(*(f"c{i}" for i in range(len(attributes)))))
    table: pa.Table = hashed.limit(max_events).toArrow()
    return Events.from_arrow(table.rename_columns(list(attributes)), space)
