"""Events of a DataFrame that stand for all of it: always the same, however it is partitioned."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from covey.errors import SpaceError
from covey.space import Events, Space
from covey.spark.lifetimes import LIFETIME
from covey.spark.schemas import check_columns

__all__ = ["sampled"]


def sampled(
    frame: DataFrame,
    space: Space,
    names: Sequence[str],
    attribute: Callable[[str], Column],
    most: int,
) -> Events:
    """At most so many events, with these attributes, which Spark computes as `attribute` says."""
    try:
        check_columns(space, [n for n in names if n != LIFETIME], frame.schema)
    except SpaceError as error:
        raise SpaceError(f"of the sample: {error}") from None
    columns = [attribute(name).alias(f"c{i}") for i, name in enumerate(names)]
    chosen = frame.select(*columns).orderBy(F.xxhash64(*(f"c{i}" for i in range(len(names)))))
    table: pa.Table = chosen.limit(most).toArrow()
    return Events.from_arrow(table.rename_columns(list(names)), space)
