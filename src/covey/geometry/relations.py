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

from covey.errors import SpaceError
from covey.geometry.balls import Balls
from covey.geometry.intervals import UNSAID, interval_covers
from covey.geometry.regions import Constraints, Regions
from covey.geometry.scalars import ALL, ONLY, Scalars
from covey.geometry.tags import Tags
from covey.space import Attribute, Events, Space
from covey.space.events import ScalarColumn, TagColumn, VectorColumn
from covey.space.keys import key_float
from covey.space.types import Type

__all__ = ["check_same_types", "contains", "covers", "hull", "overlaps", "share", "volume"]

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]


def contains(regions: Regions, r: Rows, events: Events, e: Rows) -> Bools:
    """Whether region `r[k]` contains event `e[k]`: exactly what Spark's `where` would say."""
    check_same_types(regions, events.space, regions.constraints)
    answer = np.ones(len(r), np.bool_)
    for name, given in regions.constraints.items():
        places, there = given.find(r)
        asked = np.flatnonzero(there & answer)
        if len(asked):
            answer[asked] = _contains(given.batch.take(places[asked]), events[name], e[asked])
    return answer


def covers(outer: Regions, i: Rows, inner: Regions, j: Rows) -> Bools:
    """Whether every event in region `j[k]` of `inner` is in region `i[k]` of `outer`."""
    check_same_types(outer, inner.space, inner.constraints)
    left = np.arange(len(i))  # pairs of which no attribute said no
    for name, given in outer.constraints.items():
        places, there = given.find(i[left])
        if there.any():
            asked = np.flatnonzero(there)
            covered = _covers(given.batch, places[asked], inner, outer.space[name], j[left[asked]])
            there[asked] = ~covered
            left = left[~there]
    answer = np.zeros(len(i), np.bool_)
    answer[left] = True
    return answer


def _covers(batch: Any, rows: Rows, inner: Regions, attribute: Attribute, j: Rows) -> Bools:
    """Whether constraints admit all that regions do: intervals decide where they can."""
    other = inner.constraints.get(attribute.name)
    if other is None or not isinstance(batch, Scalars) or batch.domain.dtype == object:
        return _covers_all(batch, rows, inner.batch(attribute, j))
    at, there = other.find(j)
    kind: Any = other.batch
    found = interval_covers(
        batch.lower, batch.upper, batch.nulls, batch.listed, rows,
        kind.lower, kind.upper, kind.nulls, kind.listed, at,
    )  # fmt: skip
    unsaid = np.flatnonzero((found == UNSAID) | ~there)
    if len(unsaid):
        found[unsaid] = _covers_all(batch, rows[unsaid], inner.batch(attribute, j[unsaid]))
    return np.asarray(found, np.bool_)


def _covers_all(batch: Any, rows: Rows, others: Any) -> Bools:
    return np.asarray(batch.take(rows).covers(others), np.bool_)


def overlaps(a: Regions, i: Rows, b: Regions, j: Rows) -> Bools:
    """Whether some event is in region `i[k]` of `a` and in region `j[k]` of `b`."""
    check_same_types(a, b.space, b.constraints)
    answer = np.ones(len(i), np.bool_)
    for name in a.constraints.keys() & b.constraints.keys():
        (p, p_there), (q, q_there) = a.constraints[name].find(i), b.constraints[name].find(j)
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
            raise SpaceError(f"{name!r} is {mine} in one space and {other} in the other")


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
    return Regions.of(regions.space, count, constraints)[0]


def share(regions: Regions, sample: Events) -> NDArray[np.float64]:
    """The volume of each region under a sample: the share of its events that the region contains.

    Cost: regions × events; joint, so dependent attributes are counted as they are.
    """
    every = np.arange(len(sample))
    counts = [
        contains(regions, np.full(len(every), r), sample, every).sum() for r in range(len(regions))
    ]
    return np.array(counts, np.float64) / max(1, len(sample))


def volume(regions: Regions, bounds: Mapping[str, tuple[float, float]]) -> NDArray[np.float64]:
    """The volume of each region where attributes are independent and uniform between two bounds.

    `bounds` gives both bounds, included, of every attribute that a region constrains: numbers, or
    days and microseconds since 1970. Text, tags and vectors have no uniform distribution, and no
    attribute is null under it: use `share` with a sample.
    """
    product = np.ones(len(regions), np.float64)
    for name, given in regions.constraints.items():
        type_ = regions.space[name].type
        if not isinstance(given.batch, Scalars) or type_.is_text or name not in bounds:
            raise SpaceError(
                f"no uniform volume on {name!r}: give its bounds, or use share with a sample"
            )
        measure = _lengths if type_.is_fractional else _counts
        product[given.rows] *= measure(given.batch, type_, *bounds[name])
    return product


def _contains(batch: Any, column: Any, rows: Rows) -> Bools:
    if isinstance(batch, Scalars) and isinstance(column, ScalarColumn):
        return batch.contains(column.keys[rows], column.valid[rows])
    if isinstance(batch, Tags) and isinstance(column, TagColumn):
        return batch.contains(column.tokens.take(rows), column.valid[rows])
    if isinstance(batch, Balls) and isinstance(column, VectorColumn):
        return batch.contains(column.matrix[rows], column.states[rows])
    raise SpaceError("a column of events is of another kind than the regions that constrain it")


def _lengths(batch: Scalars, type_: Type, low: float, high: float) -> NDArray[np.float64]:
    """The share of the real interval between two numbers that each row admits."""
    lower = np.nan_to_num(key_float(batch.lower, type_).astype(np.float64), nan=np.inf)
    upper = np.nan_to_num(key_float(batch.upper, type_).astype(np.float64), nan=np.inf)
    length = np.maximum(0.0, np.clip(upper, low, high) - np.clip(lower, low, high))
    return np.where(batch.listed == ONLY, 0.0, length / (high - low))


def _counts(batch: Scalars, type_: Type, low: float, high: float) -> NDArray[np.float64]:
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
