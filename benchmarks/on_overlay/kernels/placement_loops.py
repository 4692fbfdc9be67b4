"""Loops that place subscriptions in the zones of a CAN, and count the nodes that events visit.

Zones and boxes are given as lower and upper corners, one per row. The owner of zone z is node z.
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
    """Place boxes one after another, with SMART or PURE.

    Returns:
        For each box the number of its copies, for each zone the number of its copies, for each box
        whether it is a root, and the zone of its seat, or for a dependant that of its root's seat.
    """
    nodes, k = zone_low.shape
    count = len(box_low)
    copies, home = np.zeros(count, np.int64), np.zeros(count, np.int64)
    load, is_root = np.zeros(nodes, np.int64), np.zeros(count, np.bool_)
    # Linked lists: the replicas of each zone, and the roots whose seats are in each zone; -1 ends.
    first = np.full(nodes, -1, np.int64)
    entry, after, used = np.empty(1 << 16, np.int64), np.empty(1 << 16, np.int64), 0
    first_at_home = np.full(nodes, -1, np.int64)
    next_at_home = np.full(count, -1, np.int64)
    for q in range(count):
        seat_zone = _find_owner(zone_low, zone_high, centres[q])
        root = -1
        if smart:
            i = first[seat_zone]
            while i >= 0 and root < 0:
                if is_root[entry[i]] and _box_contains(box_low, box_high, entry[i], q, k):
                    root = entry[i]
                i = after[i]
        if root >= 0:
            home[q], copies[q] = home[root], 1
            load[home[root]] += 1
            continue
        home[q] = seat_zone
        if smart:
            i = first_at_home[seat_zone]
            while i >= 0:
                if is_root[i] and _box_contains(box_low, box_high, q, i, k):
                    is_root[i], copies[i] = False, 1
                    for zone in range(nodes):
                        if zone != seat_zone and _box_meets_zone(
                            zone_low, zone_high, zone, box_low, box_high, i, k
                        ):
                            load[zone] -= 1
                i = next_at_home[i]
            next_at_home[q], first_at_home[seat_zone] = first_at_home[seat_zone], q
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
    """Return the number of nodes that each event visits.

    These are the owner of its point, and the nodes with seats of roots whose boxes contain it.
    """
    nodes, k = zone_low.shape
    roots = np.flatnonzero(is_root)
    visited, last_event = np.zeros(len(points), np.int64), np.full(nodes, -1, np.int64)
    for e in range(len(points)):
        last_event[_find_owner(zone_low, zone_high, points[e])] = e
        visited[e] = 1
        for q in roots:
            if last_event[home[q]] != e and _box_has_point(box_low, box_high, q, points[e], k):
                last_event[home[q]] = e
                visited[e] += 1
    return visited


@kernel
def _find_owner(zone_low: Any, zone_high: Any, point: Any) -> int:
    """Return the zone that contains a point; -1 if there is none."""
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
    """Return whether box `outer` contains box `inner`."""
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
    """Return whether a box and a zone have a common point."""
    meets = True
    for j in range(k):
        meets &= box_low[box, j] < zone_high[zone, j] and box_high[box, j] >= zone_low[zone, j]
    return meets


@kernel
def _box_has_point(box_low: Any, box_high: Any, box: int, point: Any, k: int) -> bool:
    """Return whether a box contains a point."""
    inside = True
    for j in range(k):
        inside &= box_low[box, j] <= point[j] <= box_high[box, j]
    return inside
