"""Relations of pairs (contains, covers, overlaps); hull, selectivity and volume of regions.

A relation takes k rows of one batch and k rows of another batch, and decides each of the k pairs of
rows. Each attribute is decided on its own, and a relation holds if it holds for all attributes.
Dependencies between attributes are not used: for example, `lower(title)` depends on `title`, and a
cover that follows only from this is not detected.

Cost: a few NumPy operations on k rows per constrained attribute; for covers and overlaps of tags
and balls, some microseconds of Python per pair.
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
from covey.space.space import LATE
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
"""Answer of `cover_intervals` for a pair whose lists must be compared; 0 means no, 1 means yes."""


def contains(regions: Regions, region_rows: Rows, events: Events, event_rows: Rows) -> Bools:
    """Return for each k whether region `region_rows[k]` contains event `event_rows[k]`.

    The answer is exactly that of Spark's `where`, except that late conditions, which only Spark can
    evaluate, count as true.

    Raises:
        SchemaError: a constrained attribute has another type in the space of the events, or the
            events have no column for it.
    """
    check_same_types(regions, events.space, regions.constraints)
    answer = np.ones(len(region_rows), np.bool_)
    for name, constraints in regions.constraints.items():
        if name == LATE:
            continue
        batch_rows, is_constrained = constraints.locate_rows(region_rows)
        pairs = np.flatnonzero(is_constrained & answer)
        if len(pairs):
            answer[pairs] = _batch_contains(
                constraints.batch.take(batch_rows[pairs]), events[name], event_rows[pairs]
            )
    return answer


def covers(outer: Regions, outer_rows: Rows, inner: Regions, inner_rows: Rows) -> Bools:
    """Return for each k whether region `outer_rows[k]` covers region `inner_rows[k]`.

    True is always right. A cover may be missed if it follows only from a dependency between
    attributes, or if an attribute is constrained by balls (`covey.geometry.balls` says when).

    Raises:
        SchemaError: an attribute that `inner` constrains has another type in `outer`.
    """
    check_same_types(outer, inner.space, inner.constraints)
    candidates = np.arange(len(outer_rows))  # pairs that cover in all attributes so far
    for name, constraints in outer.constraints.items():
        batch_rows, is_refuted = constraints.locate_rows(outer_rows[candidates])
        if is_refuted.any():
            pairs = np.flatnonzero(is_refuted)
            covered = _constraint_covers(
                constraints.batch,
                batch_rows[pairs],
                inner,
                outer.space[name],
                inner_rows[candidates[pairs]],
            )
            is_refuted[pairs] = ~covered
            candidates = candidates[~is_refuted]
    answer = np.zeros(len(outer_rows), np.bool_)
    answer[candidates] = True
    return answer


def _constraint_covers(
    batch: Any, rows: Rows, inner: Regions, attribute: Attribute, inner_rows: Rows
) -> Bools:
    """Return for each k whether a constraint of `batch` covers the one of an inner region.

    The constraint is row `rows[k]` of `batch`, and the inner region is row `inner_rows[k]` of
    `inner`. Intervals of integer keys are compared by a kernel. All other pairs are decided by the
    method `covers` of `batch`.
    """
    inner_constraints = inner.constraints.get(attribute.name)
    if inner_constraints is None or not isinstance(batch, Scalars) or batch.domain.dtype == object:
        return _batch_covers(batch, rows, inner.gather_constraints(attribute, inner_rows))
    batch_rows, is_constrained = inner_constraints.locate_rows(inner_rows)
    inner_batch: Any = inner_constraints.batch
    answer = cover_intervals(
        batch.lower, batch.upper, batch.nulls, batch.listed, rows,
        inner_batch.lower, inner_batch.upper, inner_batch.nulls, inner_batch.listed, batch_rows,
    )  # fmt: skip
    undecided = np.flatnonzero((answer == UNDECIDED) | ~is_constrained)
    if len(undecided):
        answer[undecided] = _batch_covers(
            batch, rows[undecided], inner.gather_constraints(attribute, inner_rows[undecided])
        )
    return np.asarray(answer, np.bool_)


def _batch_covers(batch: Any, rows: Rows, others: Any) -> Bools:
    """Return for each k whether row `rows[k]` of a batch covers row k of `others`."""
    return np.asarray(batch.take(rows).covers(others), np.bool_)


def overlaps(a: Regions, a_rows: Rows, b: Regions, b_rows: Rows) -> Bools:
    """Return for each k whether some event may be in both of two regions.

    The regions are row `a_rows[k]` of `a` and row `b_rows[k]` of `b`. False is always right. True
    may be wrong if attributes depend on each other, or if an attribute is constrained by balls.

    Raises:
        SchemaError: an attribute that `b` constrains has another type in `a`.
    """
    check_same_types(a, b.space, b.constraints)
    answer = np.ones(len(a_rows), np.bool_)
    for name in a.constraints.keys() & b.constraints.keys():
        (p, p_constrained), (q, q_constrained) = (
            a.constraints[name].locate_rows(a_rows),
            b.constraints[name].locate_rows(b_rows),
        )
        pairs = np.flatnonzero(p_constrained & q_constrained & answer)
        batch: Any = a.constraints[name].batch.take(p[pairs])
        answer[pairs] = batch.overlaps(b.constraints[name].batch.take(q[pairs]))
    return answer


def check_same_types(regions: Regions, space: Space, names: Iterable[str]) -> None:
    """Raise SchemaError if an attribute has different types in `space` and `regions.space`.

    Args:
        regions: regions; only their space is compared.
        space: another space.
        names: attributes to compare; names that are not in both spaces are ignored.

    Raises:
        SchemaError: the types of an attribute differ.
    """
    if space is regions.space:
        return
    for name in names:
        if name in space and name in regions.space and space[name].type != regions.space[name].type:
            own, other = regions.space[name].type, space[name].type
            raise SchemaError(
                f"attribute {name!r} is {own} in one space and {other} in the other: "
                "use one type in both"
            )


def hull(regions: Regions, groups: Rows) -> Regions:
    """Return for each group one region that covers all regions of the group.

    For each scalar attribute, the region has the smallest interval that covers the constraints of
    the group, or a list (`Scalars.hull` says when). For tags it has the smallest rule. A ball is
    only nearly the smallest, because balls are enclosed two at a time. If a region of the group
    does not constrain an attribute, the hull does not constrain it either.

    Args:
        regions: the regions.
        groups: the group number of each region, from 0 without gaps, in any order.
    """
    count = int(groups.max(initial=-1)) + 1
    constraints = {}
    for name, attribute_constraints in regions.constraints.items():
        group_size = np.bincount(groups, minlength=count)
        constrained_count = np.bincount(groups[attribute_constraints.rows], minlength=count)
        constrained_groups = np.flatnonzero((constrained_count == group_size) & (group_size > 0))
        is_in_group = np.isin(groups[attribute_constraints.rows], constrained_groups)
        order = np.argsort(groups[attribute_constraints.rows[is_in_group]], kind="stable")
        batch: Any = attribute_constraints.batch.take(np.flatnonzero(is_in_group)[order])
        numbers = np.searchsorted(
            constrained_groups, groups[attribute_constraints.rows[is_in_group]][order]
        )
        if len(constrained_groups):
            hulls = batch.hull(numbers)
            if name == LATE:  # a hull must not require one of several late conditions
                hulls = hulls.drop_alternatives()
            constraints[name] = Constraints(constrained_groups, hulls)
    return Regions.from_constraints(regions.space, count, constraints)[0]


def estimate_selectivity(regions: Regions, sample: Events) -> NDArray[np.float64]:
    """Return for each region the share of the events of a sample that it contains.

    If attributes depend on each other, the shares include this dependency as it is in the sample.
    If the sample is empty, all shares are 0.

    Cost: each region is compared with each event.
    """
    event_rows = np.arange(len(sample))
    counts = [
        contains(regions, np.full(len(sample), r), sample, event_rows).sum()
        for r in range(len(regions))
    ]
    return np.array(counts, np.float64) / max(1, len(sample))


def uniform_volume(
    regions: Regions, bounds: Mapping[str, tuple[float, float]]
) -> NDArray[np.float64]:
    """Return the volume of each region: the share of uniformly distributed events in it.

    Attributes are assumed to be independent, uniformly distributed between their bounds, and never
    null. Late conditions count as true. Text, tags and vectors have no uniform distribution: use
    `estimate_selectivity` with a sample of events.

    Args:
        regions: the regions.
        bounds: smallest and largest value, both inclusive, of every attribute that a region
            constrains. Dates are days, and timestamps are microseconds, since 1970-01-01.

    Raises:
        SchemaError: a constrained attribute has no bounds, or is a text, tags or a vector.
    """
    product = np.ones(len(regions), np.float64)
    for name, attribute_constraints in regions.constraints.items():
        type_ = regions.space[name].type
        if name == LATE:
            continue
        if (
            not isinstance(attribute_constraints.batch, Scalars)
            or type_.is_text
            or name not in bounds
        ):
            raise SchemaError(
                f"cannot compute the volume of regions: attribute {name!r} has no bounds, or is a "
                "text, tags or a vector, which have no volume: add it to bounds, or use "
                "estimate_selectivity with a sample of events"
            )
        measure = _length_fractions if type_.is_fractional else _key_fractions
        product[attribute_constraints.rows] *= measure(
            attribute_constraints.batch, type_, *bounds[name]
        )
    return product


def _batch_contains(batch: Any, column: Any, rows: Rows) -> Bools:
    """Return for each k whether row k of `batch` admits row `rows[k]` of a column of events."""
    if isinstance(batch, Scalars) and isinstance(column, ScalarColumn):
        return batch.contains(column.keys[rows], column.valid[rows])
    if isinstance(batch, Tags) and isinstance(column, TagColumn):
        return batch.contains(column.tokens.take(rows), column.valid[rows])
    if isinstance(batch, Balls) and isinstance(column, VectorColumn):
        return batch.contains(column.matrix[rows], column.states[rows])
    raise SchemaError(
        f"constraints of class {type(batch).__name__} cannot be compared with a column of class "
        f"{type(column).__name__}: an attribute must have one type in the events and the regions"
    )


def _length_fractions(batch: Scalars, type_: Type, low: float, high: float) -> NDArray[np.float64]:
    """Return for each row the share of the real numbers from `low` to `high` that it admits.

    A list of numbers has the share 0, so `ONLY` gives 0, and `EXCEPT` removes nothing.
    """
    lower = np.nan_to_num(decode_floats(batch.lower, type_).astype(np.float64), nan=np.inf)
    upper = np.nan_to_num(decode_floats(batch.upper, type_).astype(np.float64), nan=np.inf)
    length = np.maximum(0.0, np.clip(upper, low, high) - np.clip(lower, low, high))
    return np.where(batch.listed == ONLY, 0.0, length / (high - low))


def _key_fractions(batch: Scalars, type_: Type, low: float, high: float) -> NDArray[np.float64]:
    """Return for each row the share of the keys that it admits, of all keys from `low` to `high`.

    `low` and `high` are values, not keys.
    """
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
    """Return for each k whether interval `outer_rows[k]` covers interval `inner_rows[k]`.

    The other arguments are columns of two batches of `Scalars`: first those of the outer batch,
    then, with the prefix `in_`, those of the inner batch. `list_modes` is the column `listed`.

    Returns:
        1 if the outer interval covers the inner one, 0 if not, `UNDECIDED` if the lists must be
        compared.
    """
    answer = np.empty(len(outer_rows), np.int8)
    for k in range(len(outer_rows)):
        i, j = outer_rows[k], inner_rows[k]
        no_value = in_lower[j] > in_upper[j]
        contains_interval = lower[i] <= in_lower[j] and in_upper[j] <= upper[i]
        if contains_interval and not no_value and (list_modes[i] != 0 or in_list_modes[j] != 0):
            answer[k] = UNDECIDED
        else:
            answer[k] = (contains_interval or no_value) and (nulls[i] or not in_nulls[j])
    return answer
