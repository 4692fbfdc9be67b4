"""The same matches by hand in Spark SQL: a join on intervals, and one on bins.

Subscriptions are given as ranges, `id`, `x1_low`, `x1_high`, …; events have `event_id`, `x1`, … in
the unit cube. A join on bins cuts some attributes into equal bins; a subscription has a row for
each cell that it meets, an event is in one cell, and what shares a cell is compared in full.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

__all__ = ["binned", "in_cells", "nested_loop"]


def nested_loop(events: DataFrame, ranges: DataFrame) -> DataFrame:
    """Pairs by `BETWEEN` on every attribute; there is no key, so Spark tries all pairs."""
    return events.join(ranges, _inside(events)).select("event_id", "id")


def in_cells(ranges: DataFrame, names: Sequence[str], bins: int) -> DataFrame:
    """Each subscription once for every cell that it meets, with the number of the `cell`."""
    for name in names:
        first, last = (_bin(F.col(f"{name}_{end}"), bins) for end in ("low", "high"))
        met = F.sequence(F.greatest(first, F.lit(0)), F.least(last, F.lit(bins - 1)))
        ranges = ranges.withColumn(f"{name}_bin", F.explode(met))
    cell = _number([F.col(f"{name}_bin") for name in names], bins)
    return ranges.withColumn("cell", cell).drop(*(f"{name}_bin" for name in names))


def binned(
    events: DataFrame, cells: DataFrame, names: Sequence[str], bins: int, hint: str
) -> DataFrame:
    """Pairs by cells and then the predicate; `hint` says how Spark joins."""
    cell = _number([_bin(F.col(name), bins) for name in names], bins)
    same = F.col("cell") == F.col("event_cell")
    placed = events.withColumn("event_cell", cell)
    return placed.join(cells.hint(hint), same & _inside(events)).select("event_id", "id")


def _bin(value: Column, bins: int) -> Column:
    return F.floor(value * bins)


def _number(bins_of: Sequence[Column], bins: int) -> Column:
    """The number of a cell, from its bin in each attribute."""
    number = bins_of[0]
    for one in bins_of[1:]:
        number = number * bins + one
    return number


def _inside(events: DataFrame) -> Column:
    """That an event is within a subscription's ranges."""
    inside = F.lit(True)
    for name in events.columns:
        if name != "event_id":
            inside &= F.col(name).between(F.col(f"{name}_low"), F.col(f"{name}_high"))
    return inside
