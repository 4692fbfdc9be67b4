"""Zones as regions: what every event of a zone satisfies, but for splits of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey.geometry import Regions
from covey.geometry.regions import Constraints
from covey.geometry.scalars import Scalars
from covey.space import Space
from covey.space.keys import key_domain
from covey.space.text_bounds import upper_bound_before
from covey.zones.splits import KeySplit, NullSplit
from covey.zones.zone_tree import ZoneTree

__all__ = ["build_zone_regions"]


def build_zone_regions(tree: ZoneTree, space: Space) -> Regions:
    """A region for each zone, in their order.

    >>> import pyarrow as pa
    >>> from covey.language import render
    >>> from covey.space.types import INT
    >>> space = Space.from_types({"price": pa.int32()})
    >>> found = build_zone_regions(ZoneTree((KeySplit("price", INT, 10),), ((~0, ~1),)), space)
    >>> render(found, 0), render(found, 1)
    ('(price IS NULL OR price <= 9)', 'price >= 10')
    """
    names = [name for name in tree.attributes if space[name].type.is_scalar]
    bounds: dict[str, list[tuple[Any, Any, bool]]] = {name: [] for name in names}
    wholes = {name: key_domain(space[name].type) for name in names}
    zones: list[int] = []

    def walk(node: int, now: dict[str, tuple[Any, Any, bool]]) -> None:
        if node < 0:
            zones.append(~node)
            for name in names:
                bounds[name].append(now[name])
            return
        cut, (low, high) = tree.splits[node], tree.children[node]
        below, above = dict(now), dict(now)
        if isinstance(cut, KeySplit):
            lower, upper, nulls = now[cut.attribute]
            end = (
                upper_bound_before(cut.first_high_key)
                if isinstance(cut.first_high_key, str)
                else cut.first_high_key - 1
            )
            below[cut.attribute] = lower, min(upper, end), nulls
            above[cut.attribute] = max(lower, cut.first_high_key), upper, False
        elif isinstance(cut, NullSplit):
            lower, upper, nulls = now[cut.attribute]
            whole = wholes[cut.attribute]
            below[cut.attribute] = whole.high, whole.low, True
            above[cut.attribute] = lower, upper, False
        walk(low, below)
        walk(high, above)

    walk(0 if tree.splits else ~0, {n: (w.low, w.high, True) for n, w in wholes.items()})
    order = np.argsort(zones)
    constraints = {}
    for name, ends in bounds.items():
        lower, upper = (np.empty(len(ends), wholes[name].dtype) for _ in range(2))
        lower[:], upper[:] = [one[0] for one in ends], [one[1] for one in ends]
        nulls = np.array([one[2] for one in ends], np.bool_)
        batch = Scalars.from_intervals(wholes[name], lower[order], upper[order], nulls=nulls[order])
        constraints[name] = Constraints(np.arange(len(ends)), batch)
    return Regions(space, len(zones), constraints).take(np.arange(len(zones)))
