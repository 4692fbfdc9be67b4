"""Grid over a few scalar attributes: an event is in a cell, and a region in a box of cells.

The grid divides each chosen attribute into at most 2^bits intervals, which have equal widths or
about equal numbers of values. A cell of the grid has one of these intervals on each attribute, and
Hilbert's curve numbers the cells. The grid ignores other attributes and differences within a cell,
so it only proposes candidates: if a region contains an event, the cell of the event is among the
cells of the region, but the converse need not be true. Null is in the first interval, and a list of
values is represented by the smallest interval that contains it (papers: mics).

Cost: a binary search per key; per region the cost of its ranges (`covey.geometry.hilbert`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.errors import InvalidArgumentError, SchemaError
from covey.geometry import Regions, hilbert
from covey.geometry.range_sets import RangeSets
from covey.geometry.relations import check_same_types
from covey.geometry.scalars import Scalars
from covey.space import Attribute, Events, Space
from covey.space.events import ScalarColumn
from covey.space.keys import Domain, Keys, encode_floats, key_domain
from covey.space.text_bounds import Below, next_text
from covey.space.types import Type

__all__ = ["HilbertGrid", "find_selective_attributes"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class HilbertGrid:
    """Grid over chosen attributes of a space.

    The cells of each attribute are numbered from 0. `boundaries[j]` has the keys at which cells 1,
    2, … of attribute j start, at most 2^bits - 1 keys. Cell 0 contains all smaller keys, and null.

    >>> import pyarrow as pa
    >>> from covey import parse
    >>> space = Space.from_types({"x": pa.int32(), "y": pa.int32()})
    >>> grid = HilbertGrid.uniform(space, ["x", "y"], 3, {"x": (0, 7), "y": (0, 7)})
    >>> grid.find_positions(Events.from_arrow(pa.table({"x": [0, 7], "y": [7, 0]}), space)).tolist()
    [21, 63]
    >>> regions = parse(space, ["x <= 1 AND y BETWEEN 6 AND 7"]).regions
    >>> list(grid.find_ranges(regions).row(0))
    [(20, 23)]
    """

    space: Space
    attributes: tuple[str, ...]
    bits: int
    boundaries: tuple[Keys, ...]

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= 30 or self.bits * len(self.attributes) > hilbert.MAX_BITS:
            raise InvalidArgumentError(
                f"bits must be from 1 to 30, and at most {hilbert.MAX_BITS} for all attributes of "
                f"a grid together, got {self.bits} bits for each of {len(self.attributes)} "
                "attributes"
            )

    @classmethod
    def uniform(
        cls,
        space: Space,
        attributes: Sequence[str],
        bits: int,
        bounds: Mapping[str, tuple[float, float]],
    ) -> HilbertGrid:
        """Return a grid that divides each attribute into 2^bits cells of equal width.

        `bounds` has for each attribute the lower end of its first cell and the upper end of its
        last cell, both included. They are numbers: days since 1970 for dates, and microseconds
        since 1970 for timestamps. Values beyond the bounds are in the first or the last cell. Texts
        have no width: use `from_regions` for them.

        Raises:
            InvalidArgumentError: if bounds are missing or not ascending, an attribute is text, or
                `bits` is out of range.
            SchemaError: if an attribute is unknown or not scalar.
        """
        for name in attributes:
            _check_scalar(space[name])
        missing = [name for name in attributes if name not in bounds]
        if missing:
            raise InvalidArgumentError(
                f"bounds has no entry for {', '.join(map(repr, missing))}: "
                "add a pair (low, high) for each attribute"
            )
        boundaries = (
            _uniform_boundaries(space[name].type, bits, *bounds[name]) for name in attributes
        )
        return cls(space, tuple(attributes), bits, tuple(boundaries))

    @classmethod
    def from_regions(
        cls, regions: Regions, attributes: Sequence[str], bits: int, *, sample: Events | None = None
    ) -> HilbertGrid:
        """Return a grid whose cells contain about equal numbers of events of a sample.

        Without a sample, the cells contain about equal numbers of ends of regions.

        Raises:
            InvalidArgumentError: if `bits` is out of range.
            SchemaError: if an attribute is unknown or not scalar, or the sample lacks it or has it
                with another type.
        """
        boundaries = []
        for name in attributes:
            type_ = _check_scalar(regions.space[name])
            keys = (
                _collect_ends(regions, name, key_domain(type_))
                if sample is None
                else _sample_keys(sample, name, type_)
            )
            boundaries.append(_quantile_boundaries(keys, bits))
        return cls(regions.space, tuple(attributes), bits, tuple(boundaries))

    def find_cells(self, events: Events) -> Ints:
        """Return the cell of each event, as a row with one cell number per attribute."""
        cells = np.zeros((len(events), len(self.attributes)), np.int64)
        for j, (name, boundaries) in enumerate(zip(self.attributes, self.boundaries, strict=True)):
            column = _get_column(events, name, self.space[name].type)
            valid = np.flatnonzero(column.valid)
            cells[valid, j] = np.searchsorted(boundaries, column.keys[valid], "right")
        return cells

    def find_positions(self, events: Events) -> Ints:
        """Return for each event the position on Hilbert's curve of the cell that contains it."""
        return hilbert.encode_cells(self.find_cells(events), self.bits)

    def find_boxes(self, regions: Regions) -> tuple[Ints, Ints]:
        """Return the lower and the upper corner cell of the box of each region, a row per region.

        The box of a region contains the boxes of all regions that it covers.
        """
        check_same_types(regions, self.space, self.attributes)
        last_cell = (1 << self.bits) - 1
        lower = np.zeros((len(regions), len(self.attributes)), np.int64)
        upper = np.full_like(lower, last_cell)
        for j, (name, boundaries) in enumerate(zip(self.attributes, self.boundaries, strict=True)):
            constraints = regions.constraints.get(name)
            if constraints is None or not isinstance(constraints.batch, Scalars):
                continue
            batch = constraints.batch
            low = np.searchsorted(boundaries, batch.lower, "right")
            high = np.searchsorted(boundaries, batch.upper, "right")
            # Cells after the last boundary are empty: a box that includes them has fewer ranges.
            high[high == len(boundaries)] = last_cell
            no_value = np.asarray(batch.lower > batch.upper, np.bool_)
            low[batch.nulls | no_value] = 0
            high[no_value] = 0
            lower[constraints.rows, j], upper[constraints.rows, j] = low, high
        return lower, upper

    def find_ranges(self, regions: Regions, *, max_ranges: int | None = None) -> RangeSets:
        """Return for each region the ranges of positions that its cells have on Hilbert's curve.

        If a region has more than `max_ranges` ranges, they are replaced by at most `max_ranges`
        wider ranges, which contain them. If one region covers another, and neither has more than
        `max_ranges` ranges, its ranges contain those of the other one.
        """
        lower, upper = self.find_boxes(regions)
        return hilbert.decompose_boxes(lower, upper, self.bits, max_ranges=max_ranges)


def find_selective_attributes(regions: Regions, count: int) -> tuple[str, ...]:
    """Return the `count` most selective scalar attributes, the most selective one first.

    An attribute is selective if regions admit only a small share of its values on average. The
    share that a region admits is estimated: it is the share of the interval ends of all regions
    that lie within the interval of the region, or 1 if the region does not constrain the attribute.
    Attributes that no region constrains are left out, so fewer than `count` may be returned.
    """
    admitted_shares = {}
    for name, constraints in regions.constraints.items():
        if isinstance(constraints.batch, Scalars):
            lower, upper = constraints.batch.lower, constraints.batch.upper
            has_value = np.asarray(lower <= upper, np.bool_)
            ends = np.sort(np.concatenate([lower[has_value], upper[has_value]]))
            inside = np.searchsorted(ends, upper[has_value], "right") - np.searchsorted(
                ends, lower[has_value]
            )
            free_count = len(regions) - len(constraints.rows)
            admitted_shares[name] = (free_count + inside.sum() / max(1, len(ends))) / max(
                1, len(regions)
            )
    return tuple(sorted(admitted_shares, key=admitted_shares.__getitem__)[:count])


def _check_scalar(attribute: Attribute) -> Type:
    """Return the type of an attribute; raise SchemaError if it is not scalar."""
    if not attribute.type.is_scalar:
        raise SchemaError(
            f"attribute {attribute.name!r} is {attribute.type}, which is not a scalar type: "
            "choose only scalar attributes for a grid"
        )
    return attribute.type


def _get_column(events: Events, name: str, type_: Type) -> ScalarColumn:
    """Return the column `name` of events; raise SchemaError if its type is not `type_`."""
    column = events[name]
    if not isinstance(column, ScalarColumn) or events.space[name].type != type_:
        expected, other = type_, events.space[name].type
        raise SchemaError(
            f"attribute {name!r} is {expected} in the grid and {other} in the events: "
            "use the same type in both"
        )
    return column


def _sample_keys(sample: Events, name: str, type_: Type) -> Keys:
    """Return the keys of the column `name` of a sample, without nulls."""
    column = _get_column(sample, name, type_)
    keys: Keys = column.keys[column.valid]
    return keys


def _collect_ends(regions: Regions, name: str, whole: Domain) -> Keys:
    """Return the keys at which intervals on an attribute start, and the keys after their ends.

    An interval has no start if it starts with the domain `whole`, and no end if it ends with the
    domain.
    """
    constraints = regions.constraints.get(name)
    if constraints is None or not isinstance(constraints.batch, Scalars):
        return np.empty(0, whole.dtype)
    batch = constraints.batch
    has_value = np.asarray(batch.lower <= batch.upper, np.bool_)
    lower, upper = batch.lower[has_value], batch.upper[has_value]
    lower = lower[np.asarray(lower > whole.low, np.bool_)]
    upper = upper[np.asarray(upper < whole.high, np.bool_)]
    return np.concatenate(
        [lower, _map_keys(upper, _first_text_after) if whole.low == "" else upper + 1]
    )


def _first_text_after(end: str | Below) -> str:
    """Return the smallest text above an upper end; the end must not be that of the domain."""
    return (end.text or "") if isinstance(end, Below) else next_text(end)


def _map_keys(keys: Keys, function: Callable[[Any], Any]) -> Keys:
    """Return `function` of each key, as an array of objects."""
    mapped = np.empty(len(keys), object)
    mapped[:] = [function(key) for key in keys.tolist()]
    return mapped


def _quantile_boundaries(keys: Keys, bits: int) -> Keys:
    """Choose at most 2^bits - 1 of the keys as boundaries; they are ascending and distinct.

    About equal numbers of keys lie between neighbouring boundaries.
    """
    ordered = np.sort(keys)
    distinct = _drop_duplicates(ordered)
    max_boundaries = (1 << bits) - 1
    if len(distinct) <= max_boundaries:
        return distinct
    return _drop_duplicates(ordered[(np.arange(1, max_boundaries + 1) * len(ordered)) >> bits])


def _drop_duplicates(ordered: Keys) -> Keys:
    """Return the keys, which must be ascending, without duplicates."""
    is_new = np.ones(len(ordered), np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    distinct: Keys = ordered[is_new]
    return distinct


def _uniform_boundaries(type_: Type, bits: int, low: float, high: float) -> Keys:
    """Return the keys at which 2^bits cells of equal width start, except that of the first cell."""
    if type_.is_text or not low < high:
        raise InvalidArgumentError(
            "cells of equal width need an attribute that is not text, and bounds with low < high, "
            f"got an attribute of type {type_} and bounds ({low}, {high})"
        )
    count = 1 << bits
    if type_.is_fractional:
        dtype = np.float64 if type_.name == "double" else np.float32
        numbers = low + (high - low) * (np.arange(1, count) / count)
        return encode_floats(numbers.astype(dtype))
    first, last = (int(Decimal(end).scaleb(type_.scale)) for end in (low, high))
    width, domain = last - first + 1, key_domain(type_)
    boundaries = np.empty(count - 1, domain.dtype)
    boundaries[:] = [first - (-i * width >> bits) for i in range(1, count)]
    return boundaries
