"""Subscriptions in the zones of a CAN, one after another, and the nodes that events visit.

Zones and boxes are lower and upper corners, a row each: `zl`, `zh`, `bl`, `bh`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from covey._jit import kernel

__all__ = ["count_visited_nodes", "place_subscriptions"]


@kernel
def place_subscriptions(
    zone_low: Any, zone_high: Any, box_low: Any, box_high: Any, centres: Any, smart: bool
) -> Any:
    """Copies of each box, copies at each zone, which boxes are roots, and the homes of all."""
    nodes, k = zone_low.shape
    count = len(box_low)
    copies, home = np.zeros(count, np.int64), np.zeros(count, np.int64)
    load, is_root = np.zeros(nodes, np.int64), np.zeros(count, np.bool_)
    first = np.full(nodes, -1, np.int64)  # lists of replicas, linked
    entry, after, used = np.empty(1 << 16, np.int64), np.empty(1 << 16, np.int64), 0
    first_at_home = np.full(nodes, -1, np.int64)  # and of the roots of each home
    next_at_home = np.full(count, -1, np.int64)
    for q in range(count):
        centre = _find_owner(zone_low, zone_high, centres[q])
        root = -1
        if smart:
            at = first[centre]
            while at >= 0 and root < 0:
                if is_root[entry[at]] and _box_contains(box_low, box_high, entry[at], q, k):
                    root = entry[at]
                at = after[at]
        if root >= 0:
            home[q], copies[q] = home[root], 1
            load[home[root]] += 1
            continue
        home[q] = centre
        if smart:
            at = first_at_home[centre]
            while at >= 0:
                if is_root[at] and _box_contains(box_low, box_high, q, at, k):
                    is_root[at], copies[at] = False, 1
                    for zone in range(nodes):
                        if zone != centre and _box_meets_zone(
                            zone_low, zone_high, zone, box_low, box_high, at, k
                        ):
                            load[zone] -= 1
                at = next_at_home[at]
            next_at_home[q], first_at_home[centre] = first_at_home[centre], q
        is_root[q] = True
        for zone in range(nodes):
            if _box_meets_zone(zone_low, zone_high, zone, box_low, box_high, q, k):
                if used == len(entry):
                    entry = np.concatenate((entry, np.empty_like(entry)))
                    after = np.concatenate((after, np.empty_like(after)))
                entry[used], after[used], first[zone] = q, first[zone], used
                used += 1
                copies[q] += 1
                load[zone] += 1
    return copies, load, is_root, home


@kernel
def count_visited_nodes(
    zone_low: Any, zone_high: Any, box_low: Any, box_high: Any, points: Any, is_root: Any, home: Any
) -> Any:
    """How many nodes each event visits: its own, and the homes of the roots that have its point."""
    nodes, k = zone_low.shape
    roots = np.flatnonzero(is_root)
    visited, last = np.zeros(len(points), np.int64), np.full(nodes, -1, np.int64)
    for e in range(len(points)):
        last[_find_owner(zone_low, zone_high, points[e])] = e
        visited[e] = 1
        for q in roots:
            if last[home[q]] != e and _box_has_point(box_low, box_high, q, points[e], k):
                last[home[q]] = e
                visited[e] += 1
    return visited


@kernel
def _find_owner(zone_low: Any, zone_high: Any, point: Any) -> int:
    nodes, k = zone_low.shape
    for zone in range(nodes):
        inside = True
        for j in range(k):
            if not zone_low[zone, j] <= point[j] < zone_high[zone, j]:
                inside = False
                break
        if inside:
            return int(zone)
    return -1


@kernel
def _box_contains(box_low: Any, box_high: Any, outer: int, inner: int, k: int) -> bool:
    inside = True
    for j in range(k):
        inside &= (
            box_low[outer, j] <= box_low[inner, j] and box_high[outer, j] >= box_high[inner, j]
        )
    return inside


@kernel
def _box_meets_zone(
    zone_low: Any, zone_high: Any, zone: int, box_low: Any, box_high: Any, box: int, k: int
) -> bool:
    meets = True
    for j in range(k):
        meets &= box_low[box, j] < zone_high[zone, j] and box_high[box, j] >= zone_low[zone, j]
    return meets


@kernel
def _box_has_point(box_low: Any, box_high: Any, box: int, point: Any, k: int) -> bool:
    inside = True
    for j in range(k):
        inside &= box_low[box, j] <= point[j] <= box_high[box, j]
    return inside
