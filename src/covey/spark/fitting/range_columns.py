"""Constraints that are given as two columns, a lower and an upper end; null is an open end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.regions import Constraints
from covey.geometry.scalars import Scalars
from covey.space.keys import encode_column, key_domain
from covey.space.types import DATE, DOUBLE, FLOAT, TIMESTAMP, VOID, Type

__all__ = ["RangeColumns", "can_hold", "intersect_ranges"]

Ints = NDArray[np.int64]
_BITS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63, "float": 24, "double": 53}


@dataclass(frozen=True, slots=True)
class RangeColumns:
    """An attribute, and the columns of its ends; the lower end is included, the upper if closed."""

    attribute: str
    lower_col: str
    upper_col: str
    is_closed: bool = True

    def build_constraints(self, regions: Regions, subscriptions: pa.Table) -> Scalars:
        """The ranges of the rows of a table."""
        type_ = regions.space[self.attribute].type
        whole = key_domain(type_)
        lower, has_lower = encode_column(
            subscriptions.column(self.lower_col).combine_chunks(), type_
        )
        upper, has_upper = encode_column(
            subscriptions.column(self.upper_col).combine_chunks(), type_
        )
        lower = np.where(has_lower, lower, whole.low).astype(whole.dtype)
        upper = upper if self.is_closed else upper - 1
        upper = np.where(has_upper, upper, whole.high).astype(whole.dtype)
        return Scalars.from_intervals(whole, lower, upper, nulls=~(has_lower | has_upper))


def intersect_ranges(
    regions: Regions,
    subscription_rows: Ints,
    subscriptions: pa.Table,
    range_columns: Sequence[RangeColumns],
) -> tuple[Regions, Ints]:
    """Regions, each with the ranges of its row `of[r]` too; those that admit nothing are left out.

    The regions do not constrain the attributes of the ranges otherwise.
    """
    constraints = dict(regions.constraints)
    for one in range_columns:
        batch = one.build_constraints(regions, subscriptions)
        rows = np.flatnonzero(~batch.is_unconstrained[subscription_rows])
        if len(rows):
            constraints[one.attribute] = Constraints(rows, batch.take(subscription_rows[rows]))
    regions, kept = Regions.from_constraints(regions.space, len(regions), constraints)
    return regions, subscription_rows[kept]


def can_hold(wide: Type, narrow: Type) -> bool:
    """Whether every value of a type is one of the other too, so that a cast changes none.

    >>> can_hold(DOUBLE, FLOAT), can_hold(FLOAT, DOUBLE), can_hold(DOUBLE, Type("bigint"))
    (True, False, False)
    """
    if narrow in (wide, VOID) or (wide, narrow) in ((DOUBLE, FLOAT), (TIMESTAMP, DATE)):
        return wide.is_scalar
    if narrow.is_integral and wide.name in _BITS:
        return _BITS[narrow.name] <= _BITS[wide.name]
    if narrow.is_integral and wide.is_decimal:
        return len(str(1 << _BITS[narrow.name])) <= wide.precision - wide.scale
    if narrow.is_decimal and wide.is_decimal:
        whole = narrow.precision - narrow.scale
        return narrow.scale <= wide.scale and whole <= wide.precision - wide.scale
    return False
