"""Networks to plan for: three regions of the world, brokers near subscribers, and broker trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.plan.model.broker_tree import PUBLISHER, BrokerTree

__all__ = ["build_clustered_tree", "draw_positions", "make_broker_tree"]

Floats = NDArray[np.float64]

_DIMENSIONS = 5
_CENTRES = np.zeros((3, _DIMENSIONS))
_CENTRES[[0, 1, 2], [0, 1, 2]] = 100.0, 60.0, 100.0  # Asia, North America, Europe, in milliseconds
_SHARES = np.array([4, 1, 4]) / 9
_SPREAD = 14.0


def draw_positions(random: np.random.Generator, count: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return random positions in the network, and the number of the region of each.

    The regions Asia (0), North America (1) and Europe (2) are drawn in the ratio 4 : 1 : 4.
    """
    regions = random.choice(3, count, p=_SHARES)
    return _draw_around_centres(random, regions), regions


def make_broker_tree(
    random: np.random.Generator, broker_count: int, *, degree: int | None = None
) -> BrokerTree:
    """Return a tree of brokers in the same regions as subscribers; the publisher is in no region.

    With a `degree`, the tree has two levels, and a broker of the top level has at most this number
    of children. Without a degree, the publisher is the parent of all brokers.
    """
    regions = np.repeat(np.arange(3), _split_by_region(broker_count))
    publisher, positions = np.zeros(_DIMENSIONS), _draw_around_centres(random, regions)
    if degree is None:
        return BrokerTree.from_arrays(publisher, positions)
    return build_clustered_tree(publisher, positions, degree)


def _draw_around_centres(random: np.random.Generator, regions: NDArray[np.int64]) -> Floats:
    """Return a random position for each element of `regions`, around the centre of this region."""
    positions: Floats = _CENTRES[regions] + random.normal(0, _SPREAD, (len(regions), _DIMENSIONS))
    return positions


def _split_by_region(count: int) -> NDArray[np.int64]:
    """Return how many of `count` brokers are in each region."""
    ends = np.round(np.cumsum(_SHARES) * count).astype(np.int64)
    portions: NDArray[np.int64] = np.diff(np.r_[0, ends])
    return portions


def build_clustered_tree(publisher: Floats, brokers: Floats, degree: int) -> BrokerTree:
    """Return a tree of two levels whose top level has as few brokers as `degree` allows.

    The first broker of the top level is the most central one; each further one is the broker that
    is farthest from those chosen before. Then ten rounds follow. In each round, every broker is
    assigned to a near broker of the top level. Then each broker of the top level is replaced by the
    most central one of the brokers that are assigned to it.
    """
    heads = _choose_spread_heads(brokers, -(-len(brokers) // (degree + 1)))
    for _ in range(10):
        head_of = _assign_to_heads(brokers, heads, degree)
        heads = np.array([_find_medoid(brokers, np.flatnonzero(head_of == h), h) for h in heads])
    head_of = _assign_to_heads(brokers, heads, degree)
    parents = np.where(np.isin(np.arange(len(brokers)), heads), PUBLISHER, head_of)
    return BrokerTree.from_arrays(publisher, brokers, parents=parents)


def _choose_spread_heads(positions: Floats, count: int) -> NDArray[np.int64]:
    """Return `count` brokers that are far from each other, beginning with the most central one."""
    heads = [int(np.linalg.norm(positions - positions.mean(axis=0), axis=1).argmin())]
    distances = np.linalg.norm(positions - positions[heads[0]], axis=1)
    while len(heads) < count:
        heads.append(int(distances.argmax()))
        distances = np.minimum(distances, np.linalg.norm(positions - positions[heads[-1]], axis=1))
    return np.array(heads)


def _assign_to_heads(positions: Floats, heads: NDArray[np.int64], degree: int) -> NDArray[np.int64]:
    """Return for each broker the row of its head, a broker of the top level.

    `heads` contains the rows of all heads; each head is its own head. Pairs of a broker and a head
    are considered in the order of distance, the nearest pair first. Each head is assigned at most
    `degree` other brokers.
    """
    distances = np.linalg.norm(positions[:, None] - positions[heads][None], axis=2)
    head_of = np.full(len(positions), -1)
    head_of[heads] = heads
    free_slots = np.full(len(heads), degree)
    for pair in np.argsort(distances, axis=None, kind="stable"):
        position, head = divmod(int(pair), len(heads))
        if head_of[position] < 0 and free_slots[head]:
            head_of[position] = heads[head]
            free_slots[head] -= 1
    return head_of


def _find_medoid(positions: Floats, rows: NDArray[np.int64], head: int) -> int:
    """Return the one of `rows` that is nearest to their mean position; `head` if there are none."""
    if not len(rows):
        return head
    centre = positions[rows].mean(axis=0)
    return int(rows[np.linalg.norm(positions[rows] - centre, axis=1).argmin()])
