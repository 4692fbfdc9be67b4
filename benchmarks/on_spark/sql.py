"""The same matches in hand-written Spark SQL: a join on intervals, and a join on bins.

Subscriptions are ranges with the columns `id`, `x1_low`, `x1_high`, …; events have `event_id` and
`x1`, … in the unit cube. A join on bins divides some attributes into equal bins. A subscription has
a row for each cell that it meets, an event is in one cell, and pairs in one cell are compared on
all attributes.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

__all__ = ["binned", "in_cells", "nested_loop"]


def nested_loop(events: DataFrame, ranges: DataFrame) -> DataFrame:
    """Return the pairs by `BETWEEN` on every attribute; without a key, Spark tries all pairs."""
    return events.join(ranges, _inside(events)).select("event_id", "id")


def in_cells(ranges: DataFrame, names: Sequence[str], bins: int) -> DataFrame:
    """Return each subscription once for every cell that it meets, with the number of the `cell`."""
    for name in names:
        first, last = (_bin(F.col(f"{name}_{end}"), bins) for end in ("low", "high"))
        met_bins = F.sequence(F.greatest(first, F.lit(0)), F.least(last, F.lit(bins - 1)))
        ranges = ranges.withColumn(f"{name}_bin", F.explode(met_bins))
    cell = _number([F.col(f"{name}_bin") for name in names], bins)
    return ranges.withColumn("cell", cell).drop(*(f"{name}_bin" for name in names))


def binned(
    events: DataFrame, cells: DataFrame, names: Sequence[str], bins: int, hint: str
) -> DataFrame:
    """Return the pairs that share a cell and satisfy the predicate; `hint` is Spark's join hint."""
    cell = _number([_bin(F.col(name), bins) for name in names], bins)
    is_same_cell = F.col("cell") == F.col("event_cell")
    with_cells = events.withColumn("event_cell", cell)
    joined = with_cells.join(cells.hint(hint), is_same_cell & _inside(events))
    return joined.select("event_id", "id")


def _bin(value: Column, bins: int) -> Column:
    return F.floor(value * bins)


def _number(bins_of: Sequence[Column], bins: int) -> Column:
    """Return the number of a cell from its bin in each attribute."""
    number = bins_of[0]
    for bin_number in bins_of[1:]:
        number = number * bins + bin_number
    return number


def _inside(events: DataFrame) -> Column:
    """Return the condition that an event is within a subscription's ranges."""
    inside = F.lit(True)
    for name in events.columns:
        if name != "event_id":
            inside &= F.col(name).between(F.col(f"{name}_low"), F.col(f"{name}_high"))
    return inside
