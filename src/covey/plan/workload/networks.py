"""Networks to plan for: three regions of the world, brokers where subscribers are, and trees."""

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
    """Places in the network, and the region of each: 4 : 1 : 4."""
    regions = random.choice(3, count, p=_SHARES)
    return _draw_around_centres(random, regions), regions


def make_broker_tree(
    random: np.random.Generator, broker_count: int, *, degree: int | None = None
) -> BrokerTree:
    """Brokers in the shares of subscribers, the publisher apart from all regions.

    With a `degree` the publisher feeds brokers that each feed at most so many others.
    """
    regions = np.repeat(np.arange(3), _split_by_region(broker_count))
    publisher, places = np.zeros(_DIMENSIONS), _draw_around_centres(random, regions)
    if degree is None:
        return BrokerTree.from_arrays(publisher, places)
    return build_clustered_tree(publisher, places, degree)


def _draw_around_centres(random: np.random.Generator, regions: NDArray[np.int64]) -> Floats:
    places: Floats = _CENTRES[regions] + random.normal(0, _SPREAD, (len(regions), _DIMENSIONS))
    return places


def _split_by_region(count: int) -> NDArray[np.int64]:
    """So many, divided by the shares of the regions."""
    ends = np.round(np.cumsum(_SHARES) * count).astype(np.int64)
    portions: NDArray[np.int64] = np.diff(np.r_[0, ends])
    return portions


def build_clustered_tree(publisher: Floats, brokers: Floats, degree: int) -> BrokerTree:
    """Two levels: as few brokers as can feed all others, each those near to it.

    Which brokers feed others is found by taking the farthest from all that were taken, again and
    again, and then moving each to the middle of what is near it.
    """
    heads = _choose_spread_heads(brokers, -(-len(brokers) // (degree + 1)))
    for _ in range(10):
        head_of = _assign_to_heads(brokers, heads, degree)
        heads = np.array([_find_medoid(brokers, np.flatnonzero(head_of == h), h) for h in heads])
    head_of = _assign_to_heads(brokers, heads, degree)
    parents = np.where(np.isin(np.arange(len(brokers)), heads), PUBLISHER, head_of)
    return BrokerTree.from_arrays(publisher, brokers, parents=parents)


def _choose_spread_heads(positions: Floats, count: int) -> NDArray[np.int64]:
    taken = [int(np.linalg.norm(positions - positions.mean(axis=0), axis=1).argmin())]
    away = np.linalg.norm(positions - positions[taken[0]], axis=1)
    while len(taken) < count:
        taken.append(int(away.argmax()))
        away = np.minimum(away, np.linalg.norm(positions - positions[taken[-1]], axis=1))
    return np.array(taken)


def _assign_to_heads(positions: Floats, heads: NDArray[np.int64], degree: int) -> NDArray[np.int64]:
    """For each place a head that has room, nearest pairs first; heads have themselves."""
    away = np.linalg.norm(positions[:, None] - positions[heads][None], axis=2)
    head_of = np.full(len(positions), -1)
    head_of[heads] = heads
    room = np.full(len(heads), degree)
    for pair in np.argsort(away, axis=None, kind="stable"):
        place, head = divmod(int(pair), len(heads))
        if head_of[place] < 0 and room[head]:
            head_of[place] = heads[head]
            room[head] -= 1
    return head_of


def _find_medoid(positions: Floats, rows: NDArray[np.int64], head: int) -> int:
    if not len(rows):
        return head
    centre = positions[rows].mean(axis=0)
    return int(rows[np.linalg.norm(positions[rows] - centre, axis=1).argmin()])
