"""Range columns: two columns with the ends of an interval.

A null means that the interval has no bound on that side.
"""

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
    """Attribute that is constrained to a range, with the columns of its lower and upper end.

    The range includes its lower end. It includes its upper end only if `is_closed`.
    """

    attribute: str
    lower_col: str
    upper_col: str
    is_closed: bool = True

    def build_constraints(self, regions: Regions, subscriptions: pa.Table) -> Scalars:
        """Return the interval of each row of `subscriptions`.

        A row with two null ends is unconstrained.

        Args:
            regions: regions; their space contains the attribute.
            subscriptions: a table with the columns of the ends.
        """
        type_ = regions.space[self.attribute].type
        domain = key_domain(type_)
        lower, has_lower = encode_column(
            subscriptions.column(self.lower_col).combine_chunks(), type_
        )
        upper, has_upper = encode_column(
            subscriptions.column(self.upper_col).combine_chunks(), type_
        )
        lower = np.where(has_lower, lower, domain.low).astype(domain.dtype)
        upper = upper if self.is_closed else upper - 1
        upper = np.where(has_upper, upper, domain.high).astype(domain.dtype)
        return Scalars.from_intervals(domain, lower, upper, nulls=~(has_lower | has_upper))


def intersect_ranges(
    regions: Regions,
    subscription_rows: Ints,
    subscriptions: pa.Table,
    range_columns: Sequence[RangeColumns],
) -> tuple[Regions, Ints]:
    """Return regions with the ranges of their subscriptions as further constraints.

    Args:
        regions: regions that do not constrain the attributes of the ranges.
        subscription_rows: for each region the row of its subscription in `subscriptions`.
        subscriptions: a table with the columns of the ends.
        range_columns: the attributes and their columns.

    Returns:
        The regions that are not empty, and for each of them the row of its subscription.
    """
    constraints = dict(regions.constraints)
    for each in range_columns:
        batch = each.build_constraints(regions, subscriptions)
        rows = np.flatnonzero(~batch.is_unconstrained[subscription_rows])
        if len(rows):
            constraints[each.attribute] = Constraints(rows, batch.take(subscription_rows[rows]))
    regions, nonempty_rows = Regions.from_constraints(regions.space, len(regions), constraints)
    return regions, subscription_rows[nonempty_rows]


def can_hold(wide: Type, narrow: Type) -> bool:
    """Return whether type `wide` can represent every value of type `narrow`.

    If so, a cast from `narrow` to `wide` changes no value.

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
        integer_digits = narrow.precision - narrow.scale
        return narrow.scale <= wide.scale and integer_digits <= wide.precision - wide.scale
    return False
