"""Zones as regions: the constraints on scalars that every event of a zone satisfies."""

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
    """Return a region for each zone, in the order of zones, that contains all events of the zone.

    Splits of vectors are left out, because a region cannot express them. So if a zone is a side of
    such a split, its region contains more events than the zone.

    >>> import pyarrow as pa
    >>> from covey.language import render
    >>> from covey.space.types import INT
    >>> space = Space.from_types({"price": pa.int32()})
    >>> zones = build_zone_regions(ZoneTree((KeySplit("price", INT, 10),), ((~0, ~1),)), space)
    >>> render(zones, 0), render(zones, 1)
    ('(price IS NULL OR price <= 9)', 'price >= 10')
    """
    names = [name for name in tree.attributes if space[name].type.is_scalar]
    bounds: dict[str, list[tuple[Any, Any, bool]]] = {name: [] for name in names}
    domains = {name: key_domain(space[name].type) for name in names}
    zones: list[int] = []

    def walk(node: int, node_bounds: dict[str, tuple[Any, Any, bool]]) -> None:
        """Append the zones below a node to `zones`, and their bounds to `bounds`.

        Bounds of an attribute are the lower key, the upper key, and whether null is admitted.
        """
        if node < 0:
            zones.append(~node)
            for name in names:
                bounds[name].append(node_bounds[name])
            return
        split, (low, high) = tree.splits[node], tree.children[node]
        below, above = dict(node_bounds), dict(node_bounds)
        if isinstance(split, KeySplit):
            lower, upper, nulls = node_bounds[split.attribute]
            end = (
                upper_bound_before(split.first_high_key)
                if isinstance(split.first_high_key, str)
                else split.first_high_key - 1
            )
            below[split.attribute] = lower, min(upper, end), nulls
            above[split.attribute] = max(lower, split.first_high_key), upper, False
        elif isinstance(split, NullSplit):
            lower, upper, nulls = node_bounds[split.attribute]
            domain = domains[split.attribute]
            below[split.attribute] = domain.high, domain.low, True
            above[split.attribute] = lower, upper, False
        walk(low, below)
        walk(high, above)

    walk(0 if tree.splits else ~0, {n: (w.low, w.high, True) for n, w in domains.items()})
    order = np.argsort(zones)
    constraints = {}
    for name, ends in bounds.items():
        lower, upper = (np.empty(len(ends), domains[name].dtype) for _ in range(2))
        lower[:], upper[:] = [end[0] for end in ends], [end[1] for end in ends]
        nulls = np.array([end[2] for end in ends], np.bool_)
        batch = Scalars.from_intervals(
            domains[name], lower[order], upper[order], nulls=nulls[order]
        )
        constraints[name] = Constraints(np.arange(len(ends)), batch)
    return Regions(space, len(zones), constraints).take(np.arange(len(zones)))
