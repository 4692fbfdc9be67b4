"""Relations between regions and events, pair by pair: contains, covers, overlaps; hull and volume.

Every function takes numbers of rows on both sides, k pairs in all, and answers for each pair. All
are products over the attributes, which are taken as independent: that `lower(title)` follows from
`title` is not used, so a cover that only such a dependency makes true is not found.

Cost: per attribute that a side constrains, a few NumPy operations on k rows; for covers and
overlaps of tags and balls some microseconds of Python per pair.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.errors import SchemaError
from covey.geometry.balls import Balls
from covey.geometry.regions import Constraints, Regions
from covey.geometry.scalars import ALL, ONLY, Scalars
from covey.geometry.tags import Tags
from covey.space import Attribute, Events, Space
from covey.space.events import ScalarColumn, TagColumn, VectorColumn
from covey.space.keys import decode_floats
from covey.space.types import Type

__all__ = [
    "UNDECIDED",
    "check_same_types",
    "contains",
    "cover_intervals",
    "covers",
    "estimate_selectivity",
    "hull",
    "overlaps",
    "uniform_volume",
]

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]

UNDECIDED = 2
"""The answer of `cover_intervals` where lists decide; others are 0 and 1."""


def contains(regions: Regions, region_rows: Rows, events: Events, event_rows: Rows) -> Bools:
    """Whether region `region_rows[k]` contains event `event_rows[k]`: what Spark's `where` says."""
    check_same_types(regions, events.space, regions.constraints)
    answer = np.ones(len(region_rows), np.bool_)
    for name, given in regions.constraints.items():
        places, there = given.locate_rows(region_rows)
        asked = np.flatnonzero(there & answer)
        if len(asked):
            answer[asked] = _batch_contains(
                given.batch.take(places[asked]), events[name], event_rows[asked]
            )
    return answer


def covers(outer: Regions, outer_rows: Rows, inner: Regions, inner_rows: Rows) -> Bools:
    """Whether each event of region `inner_rows[k]` of `inner` is in `outer_rows[k]` of `outer`."""
    check_same_types(outer, inner.space, inner.constraints)
    left = np.arange(len(outer_rows))  # pairs of which no attribute said no
    for name, given in outer.constraints.items():
        places, there = given.locate_rows(outer_rows[left])
        if there.any():
            asked = np.flatnonzero(there)
            covered = _constraint_covers(
                given.batch, places[asked], inner, outer.space[name], inner_rows[left[asked]]
            )
            there[asked] = ~covered
            left = left[~there]
    answer = np.zeros(len(outer_rows), np.bool_)
    answer[left] = True
    return answer


def _constraint_covers(
    batch: Any, rows: Rows, inner: Regions, attribute: Attribute, inner_rows: Rows
) -> Bools:
    """Whether constraints admit all that regions do: intervals decide where they can."""
    other = inner.constraints.get(attribute.name)
    if other is None or not isinstance(batch, Scalars) or batch.domain.dtype == object:
        return _batch_covers(batch, rows, inner.gather_constraints(attribute, inner_rows))
    at, there = other.locate_rows(inner_rows)
    kind: Any = other.batch
    found = cover_intervals(
        batch.lower, batch.upper, batch.nulls, batch.listed, rows,
        kind.lower, kind.upper, kind.nulls, kind.listed, at,
    )  # fmt: skip
    unsaid = np.flatnonzero((found == UNDECIDED) | ~there)
    if len(unsaid):
        found[unsaid] = _batch_covers(
            batch, rows[unsaid], inner.gather_constraints(attribute, inner_rows[unsaid])
        )
    return np.asarray(found, np.bool_)


def _batch_covers(batch: Any, rows: Rows, others: Any) -> Bools:
    return np.asarray(batch.take(rows).covers(others), np.bool_)


def overlaps(a: Regions, a_rows: Rows, b: Regions, b_rows: Rows) -> Bools:
    """Whether some event is in region `a_rows[k]` of `a` and in region `b_rows[k]` of `b`."""
    check_same_types(a, b.space, b.constraints)
    answer = np.ones(len(a_rows), np.bool_)
    for name in a.constraints.keys() & b.constraints.keys():
        (p, p_there), (q, q_there) = (
            a.constraints[name].locate_rows(a_rows),
            b.constraints[name].locate_rows(b_rows),
        )
        asked = np.flatnonzero(p_there & q_there & answer)
        batch: Any = a.constraints[name].batch.take(p[asked])
        answer[asked] = batch.overlaps(b.constraints[name].batch.take(q[asked]))
    return answer


def check_same_types(regions: Regions, space: Space, names: Iterable[str]) -> None:
    """Raises where attributes that are constrained have another type in another space."""
    if space is regions.space:
        return
    for name in names:
        if name in space and name in regions.space and space[name].type != regions.space[name].type:
            mine, other = regions.space[name].type, space[name].type
            raise SchemaError(f"{name!r} is {mine} in one space and {other} in the other")


def hull(regions: Regions, groups: Rows) -> Regions:
    """For each group of regions one that covers them all; `groups[i]` is the group of region i.

    Groups count from 0 without gaps. Per attribute it is the smallest interval (or list, where all
    are lists), rule of tags, or ball (near enough: two at a time).
    """
    count = int(groups.max(initial=-1)) + 1
    constraints = {}
    for name, given in regions.constraints.items():
        size = np.bincount(groups, minlength=count)
        held = np.bincount(groups[given.rows], minlength=count)
        everywhere = np.flatnonzero((held == size) & (size > 0))
        chosen = np.isin(groups[given.rows], everywhere)
        order = np.argsort(groups[given.rows[chosen]], kind="stable")
        batch: Any = given.batch.take(np.flatnonzero(chosen)[order])
        numbers = np.searchsorted(everywhere, groups[given.rows[chosen]][order])
        if len(everywhere):
            constraints[name] = Constraints(everywhere, batch.hull(numbers))
    return Regions.from_constraints(regions.space, count, constraints)[0]


def estimate_selectivity(regions: Regions, sample: Events) -> NDArray[np.float64]:
    """The volume of each region under a sample: the share of its events that the region contains.

    Cost: regions × events; joint, so dependent attributes are counted as they are.
    """
    every = np.arange(len(sample))
    counts = [
        contains(regions, np.full(len(every), r), sample, every).sum() for r in range(len(regions))
    ]
    return np.array(counts, np.float64) / max(1, len(sample))


def uniform_volume(
    regions: Regions, bounds: Mapping[str, tuple[float, float]]
) -> NDArray[np.float64]:
    """The volume of each region where attributes are independent and uniform between two bounds.

    `bounds` gives both bounds, included, of every attribute that a region constrains: numbers, or
    days and microseconds since 1970. Text, tags and vectors have no uniform distribution, and no
    attribute is null under it: use `estimate_selectivity` with a sample.
    """
    product = np.ones(len(regions), np.float64)
    for name, given in regions.constraints.items():
        type_ = regions.space[name].type
        if not isinstance(given.batch, Scalars) or type_.is_text or name not in bounds:
            raise SchemaError(
                f"no uniform volume on {name!r}: give its bounds, or use estimate_selectivity"
            )
        measure = _length_fractions if type_.is_fractional else _key_fractions
        product[given.rows] *= measure(given.batch, type_, *bounds[name])
    return product


def _batch_contains(batch: Any, column: Any, rows: Rows) -> Bools:
    if isinstance(batch, Scalars) and isinstance(column, ScalarColumn):
        return batch.contains(column.keys[rows], column.valid[rows])
    if isinstance(batch, Tags) and isinstance(column, TagColumn):
        return batch.contains(column.tokens.take(rows), column.valid[rows])
    if isinstance(batch, Balls) and isinstance(column, VectorColumn):
        return batch.contains(column.matrix[rows], column.states[rows])
    raise SchemaError("a column of events is of another kind than the regions that constrain it")


def _length_fractions(batch: Scalars, type_: Type, low: float, high: float) -> NDArray[np.float64]:
    """The share of the real interval between two numbers that each row admits."""
    lower = np.nan_to_num(decode_floats(batch.lower, type_).astype(np.float64), nan=np.inf)
    upper = np.nan_to_num(decode_floats(batch.upper, type_).astype(np.float64), nan=np.inf)
    length = np.maximum(0.0, np.clip(upper, low, high) - np.clip(lower, low, high))
    return np.where(batch.listed == ONLY, 0.0, length / (high - low))


def _key_fractions(batch: Scalars, type_: Type, low: float, high: float) -> NDArray[np.float64]:
    """The share of the keys between two numbers that each row admits."""
    first, last = (
        math.ceil(Decimal(low).scaleb(type_.scale)),
        math.floor(Decimal(high).scaleb(type_.scale)),
    )
    lower = np.maximum(batch.lower.astype(object), first)
    upper = np.minimum(batch.upper.astype(object), last)
    count = np.maximum(0, upper - lower + 1)
    for i in np.flatnonzero(batch.listed != ALL):
        inside = sum(first <= key <= last for key in batch.lists.row(int(i)).tolist())
        count[i] = inside if batch.listed[i] == ONLY else count[i] - inside
    return np.asarray(count / (last - first + 1), np.float64)


@kernel
def cover_intervals(
    lower: Rows,
    upper: Rows,
    nulls: Bools,
    list_modes: NDArray[np.int8],
    outer_rows: Rows,
    in_lower: Rows,
    in_upper: Rows,
    in_nulls: Bools,
    in_list_modes: NDArray[np.int8],
    inner_rows: Rows,
) -> NDArray[np.int8]:
    """Whether the interval at `outer_rows[k]` admits all that the one at `inner_rows[k]` does."""
    answer = np.empty(len(outer_rows), np.int8)
    for k in range(len(outer_rows)):
        i, j = outer_rows[k], inner_rows[k]
        no_value = in_lower[j] > in_upper[j]
        wide = lower[i] <= in_lower[j] and in_upper[j] <= upper[i]
        if wide and not no_value and (list_modes[i] != 0 or in_list_modes[j] != 0):
            answer[k] = UNDECIDED
        else:
            answer[k] = (wide or no_value) and (nulls[i] or not in_nulls[j])
    return answer
