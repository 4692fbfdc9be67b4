"""Events of a DataFrame that stand for all of it: always the same, however it is partitioned."""

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
    """At most so many events, with these attributes, which Spark computes as `attribute` says."""
    try:
        check_event_columns(space, [n for n in attributes if n != VALIDITY], events.schema)
    except SchemaError as error:
        raise SchemaError(f"of the sample: {error}") from None
    columns = [select_attribute(name).alias(f"c{i}") for i, name in enumerate(attributes)]
    chosen = events.select(*columns).orderBy(F.xxhash64(*(f"c{i}" for i in range(len(attributes)))))
    table: pa.Table = chosen.limit(max_events).toArrow()
    return Events.from_arrow(table.rename_columns(list(attributes)), space)
