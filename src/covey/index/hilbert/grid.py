"""A grid over a few scalar attributes: events become cells of it, regions boxes of cells.

Each chosen attribute is cut into at most 2^bits cells at ascending keys, of equal width or with
equally many values each; Hilbert's curve numbers the cells of all together. A cell stands for
everything in it, and attributes that are not chosen are ignored, so cells only ever propose: every
event in a region has its cell among the region's, and so have others. Null is in cell 0, lists are
taken as their intervals. (papers: mics)

Cost: a binary search per key; per region what its ranges cost (`covey.geometry.hilbert`).
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
    """Chosen attributes, each with the keys at which its cells 1, 2, … start.

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
                f"{len(self.attributes)} attributes of {self.bits} bits each: 1 to 30 bits an "
                f"attribute, {hilbert.MAX_BITS} in all"
            )

    @classmethod
    def uniform(
        cls,
        space: Space,
        attributes: Sequence[str],
        bits: int,
        bounds: Mapping[str, tuple[float, float]],
    ) -> HilbertGrid:
        """Cells of equal width between two bounds, both included, of every attribute.

        Bounds are numbers, or days and microseconds since 1970. What is beyond is in the first or
        the last cell. Text has no width: use `from_regions`.
        """
        for name in attributes:
            _check_scalar(space[name])
        missing = [name for name in attributes if name not in bounds]
        if missing:
            raise InvalidArgumentError(f"no bounds for {', '.join(map(repr, missing))}")
        cuts = (_uniform_boundaries(space[name].type, bits, *bounds[name]) for name in attributes)
        return cls(space, tuple(attributes), bits, tuple(cuts))

    @classmethod
    def from_regions(
        cls, regions: Regions, attributes: Sequence[str], bits: int, *, sample: Events | None = None
    ) -> HilbertGrid:
        """Cells with about equally many events of a sample each, or ends of the regions'."""
        cuts = []
        for name in attributes:
            type_ = _check_scalar(regions.space[name])
            keys = (
                _collect_ends(regions, name, key_domain(type_))
                if sample is None
                else _sample_keys(sample, name, type_)
            )
            cuts.append(_quantile_boundaries(keys, bits))
        return cls(regions.space, tuple(attributes), bits, tuple(cuts))

    def find_cells(self, events: Events) -> Ints:
        """The cell of each event, a row of one number per attribute."""
        found = np.zeros((len(events), len(self.attributes)), np.int64)
        for j, (name, cuts) in enumerate(zip(self.attributes, self.boundaries, strict=True)):
            column = _get_column(events, name, self.space[name].type)
            valid = np.flatnonzero(column.valid)
            found[valid, j] = np.searchsorted(cuts, column.keys[valid], "right")
        return found

    def find_positions(self, events: Events) -> Ints:
        """The position of each event's cell on the curve."""
        return hilbert.encode_cells(self.find_cells(events), self.bits)

    def find_boxes(self, regions: Regions) -> tuple[Ints, Ints]:
        """The first and the last cell that each region may have events in, per attribute.

        A region that covers another has a box that contains the other's.
        """
        check_same_types(regions, self.space, self.attributes)
        top = (1 << self.bits) - 1
        lower = np.zeros((len(regions), len(self.attributes)), np.int64)
        upper = np.full_like(lower, top)
        for j, (name, cuts) in enumerate(zip(self.attributes, self.boundaries, strict=True)):
            given = regions.constraints.get(name)
            if given is None or not isinstance(given.batch, Scalars):
                continue
            batch = given.batch
            low = np.searchsorted(cuts, batch.lower, "right")
            high = np.searchsorted(cuts, batch.upper, "right")
            # Cells after the last cut are empty: with them, what has no upper end is one part.
            high[high == len(cuts)] = top
            no_value = np.asarray(batch.lower > batch.upper, np.bool_)
            low[batch.nulls | no_value] = 0
            high[no_value] = 0
            lower[given.rows, j], upper[given.rows, j] = low, high
        return lower, upper

    def find_ranges(self, regions: Regions, *, max_ranges: int | None = None) -> RangeSets:
        """The positions of each region's cells; of more than `max_ranges`, some that contain them.

        A region that covers another has all positions of the other if neither has too many ranges.
        """
        lower, upper = self.find_boxes(regions)
        return hilbert.decompose_boxes(lower, upper, self.bits, max_ranges=max_ranges)


def find_selective_attributes(regions: Regions, count: int) -> tuple[str, ...]:
    """The `count` scalar attributes of which an average region admits least, least first.

    What it admits of one is measured by the share of all regions' ends that lie within its
    interval; a region that does not constrain it admits all. An attribute that none constrains is
    never chosen.
    """
    admitted = {}
    for name, given in regions.constraints.items():
        if isinstance(given.batch, Scalars):
            lower, upper = given.batch.lower, given.batch.upper
            some = np.asarray(lower <= upper, np.bool_)
            ends = np.sort(np.concatenate([lower[some], upper[some]]))
            inside = np.searchsorted(ends, upper[some], "right") - np.searchsorted(
                ends, lower[some]
            )
            free = len(regions) - len(given.rows)
            admitted[name] = (free + inside.sum() / max(1, len(ends))) / max(1, len(regions))
    return tuple(sorted(admitted, key=admitted.__getitem__)[:count])


def _check_scalar(attribute: Attribute) -> Type:
    if not attribute.type.is_scalar:
        raise SchemaError(f"{attribute.name!r} is {attribute.type}: it has no order to cut")
    return attribute.type


def _get_column(events: Events, name: str, type_: Type) -> ScalarColumn:
    column = events[name]
    if not isinstance(column, ScalarColumn) or events.space[name].type != type_:
        mine, other = type_, events.space[name].type
        raise SchemaError(f"{name!r} is {mine} in one space and {other} in the other")
    return column


def _sample_keys(sample: Events, name: str, type_: Type) -> Keys:
    column = _get_column(sample, name, type_)
    keys: Keys = column.keys[column.valid]
    return keys


def _collect_ends(regions: Regions, name: str, whole: Domain) -> Keys:
    """The keys at which the intervals on an attribute start, and those right after their ends."""
    given = regions.constraints.get(name)
    if given is None or not isinstance(given.batch, Scalars):
        return np.empty(0, whole.dtype)
    batch = given.batch
    some = np.asarray(batch.lower <= batch.upper, np.bool_)
    lower, upper = batch.lower[some], batch.upper[some]
    lower = lower[np.asarray(lower > whole.low, np.bool_)]
    upper = upper[np.asarray(upper < whole.high, np.bool_)]
    return np.concatenate(
        [lower, _map_keys(upper, _first_text_after) if whole.low == "" else upper + 1]
    )


def _first_text_after(end: str | Below) -> str:
    """The first text after the upper end of an interval, which is not the end of all."""
    return (end.text or "") if isinstance(end, Below) else next_text(end)


def _map_keys(keys: Keys, function: Callable[[Any], Any]) -> Keys:
    found = np.empty(len(keys), object)
    found[:] = [function(key) for key in keys.tolist()]
    return found


def _quantile_boundaries(keys: Keys, bits: int) -> Keys:
    """At most 2^bits - 1 of some keys, each once, with equally many between any two."""
    ordered = np.sort(keys)
    distinct = _drop_duplicates(ordered)
    most = (1 << bits) - 1
    if len(distinct) <= most:
        return distinct
    return _drop_duplicates(ordered[(np.arange(1, most + 1) * len(ordered)) >> bits])


def _drop_duplicates(ordered: Keys) -> Keys:
    new = np.ones(len(ordered), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    kept: Keys = ordered[new]
    return kept


def _uniform_boundaries(type_: Type, bits: int, low: float, high: float) -> Keys:
    """The keys at which 2^bits cells of equal width between two numbers start, but the first."""
    if type_.is_text or not low < high:
        raise InvalidArgumentError(f"no cells of equal width of {type_} between {low} and {high}")
    count = 1 << bits
    if type_.is_fractional:
        dtype = np.float64 if type_.name == "double" else np.float32
        numbers = low + (high - low) * (np.arange(1, count) / count)
        return encode_floats(numbers.astype(dtype))
    first, last = (int(Decimal(end).scaleb(type_.scale)) for end in (low, high))
    width, whole = last - first + 1, key_domain(type_)
    cuts = np.empty(count - 1, whole.dtype)
    cuts[:] = [first - (-i * width >> bits) for i in range(1, count)]
    return cuts
