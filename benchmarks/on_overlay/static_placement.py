"""The placement of subscriptions in a large CAN, and the nodes that events visit, without messages.

The result is the one of `covey.overlay.can.node` if subscriptions arrive one after another and none
is cancelled; tests compare the two. The study of the paper has a thousand nodes and 50,000
subscriptions, which is too large to be simulated message by message. (papers: can)

Cost: for each subscription a pass over the zones and, with SMART, over the replicas at one node.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.on_overlay.kernels.placement_loops import count_visited_nodes, place_subscriptions
from covey.overlay.can.zones import CanZone

__all__ = ["StaticPlacement", "build_random_zones", "place_statically"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StaticPlacement:
    """The placement of all subscriptions, and the cost of events.

    Attributes:
        copies: number of copies of each subscription.
        load: number of copies at each node.
        is_root: whether each subscription is a root.
        home: the node with the seat of each subscription, or for a dependant of its root.
        visited_nodes: number of nodes that each event visits.
    """

    copies: Ints
    load: Ints
    is_root: NDArray[np.bool_]
    home: Ints
    visited_nodes: Ints


def build_random_zones(node_count: int, dimensions: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Return the zones of a CAN whose nodes joined at random points: lower and upper corners."""
    random_, zones = random.Random(seed), [CanZone.whole_cube(dimensions)]
    low, high = np.zeros((node_count, dimensions)), np.zeros((node_count, dimensions))
    low[0], high[0] = zones[0].low, zones[0].high
    for count in range(1, node_count):
        point = np.array([random_.random() for _ in range(dimensions)])
        inside = (low[:count] <= point).all(axis=1) & (point < high[:count]).all(axis=1)
        owner = int(np.flatnonzero(inside)[0])
        own_half, new_zone = zones[owner].split_in_half()
        zones[owner] = own_half
        zones.append(new_zone)
        low[owner], high[owner] = own_half.low, own_half.high
        low[count], high[count] = new_zone.low, new_zone.high
    return low, high


def place_statically(
    zones: tuple[Floats, Floats],
    boxes: tuple[Floats, Floats],
    centres: Floats,
    points: Floats,
    smart: bool,
) -> StaticPlacement:
    """Place boxes in their order, and count the nodes that events visit.

    Args:
        zones: lower and upper corners of the zones, one row per node.
        boxes: lower and upper corners of the boxes of subscriptions.
        centres: the points of their seats.
        points: the points of events.
        smart: SMART replication if true, else PURE.
    """
    corners = [np.ascontiguousarray(ends, np.float64) for ends in (*zones, *boxes)]
    copies, load, is_root, home = place_subscriptions(
        *corners, np.ascontiguousarray(centres), smart
    )
    count = np.ones(len(points), np.int64)
    if smart:
        count = count_visited_nodes(*corners, np.ascontiguousarray(points), is_root, home)
    return StaticPlacement(copies, load, is_root, home, count)
