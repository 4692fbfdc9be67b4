"""Workloads of the assignment paper, as problems of any size.

*Topics* (#1) replaces a generator that the paper does not print. Topics form a tree of rectangles:
on five levels, each rectangle is divided into four. The popularity of topics follows Zipf's law:
one half is the same in all regions, the other half is drawn for each region. If interests are not
skewed, the popularities of siblings are moved towards their mean by 55%, which leaves a fifth of
their variance (the paper reduces the variance by 55%). Then the popularity of the root and of the
first level below it becomes 0, and that of the second level is divided by 20. After this, a
hundredth of each topic's popularity moves to the topic above it; with broad interests, a tenth.
Finally, the hundred most popular topics are left out.

*Interests* (#2) are fifty unit squares; the subscribers of each are at ten positions. *Hot spots*
(#3) are boxes around the centres of a hundred cells; the widths of both sides are drawn, and the
positions are independent of the boxes. (papers: assignment)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.plan.model.problem import Problem, Subscribers
from covey.plan.workload.networks import draw_positions, make_broker_tree

__all__ = [
    "ASSIGNMENT_PROBLEMS",
    "make_hot_spots_problem",
    "make_interests_problem",
    "make_topics_problem",
]

Floats = NDArray[np.float64]

_SIDE = 1000.0  # of event space, which is a square
_POSITIONS = 1000  # possible positions of subscribers in the network
_LEVELS = 5
_DROPPED_TOPICS = 100
_DIFFUSION, _RARE, _BROAD = 0.55, 0.01, 0.10
_WIDTHS = np.array([25.0, 50.0, 100.0, 200.0, 300.0])


def make_topics_problem(
    subscriber_count: int = 100_000,
    broker_count: int = 100,
    *,
    skewed: bool = True,
    broad: bool = False,
    degree: int | None = None,
    seed: int = 0,
) -> Problem:
    """Return workload #1: topics in a tree of rectangles.

    The paper's baseline is skewed and not broad.

    Args:
        subscriber_count: the number of subscribers.
        broker_count: the number of brokers.
        skewed: use the popularity of topics as drawn; if False, siblings are made more equal.
        broad: move more of the popularity to larger topics.
        degree: the largest number of children of a top-level broker; None for a tree of one level.
        seed: the seed of all random choices.
    """
    random = np.random.default_rng([seed, 1])
    tree = make_broker_tree(random, broker_count, degree=degree)
    lower, upper, parents, levels = _build_topic_tree(random)
    popular = _draw_popularity(random, parents, levels, skewed, _BROAD if broad else _RARE)
    hottest = np.argsort(-(popular * np.array([[4], [1], [4]])).sum(axis=0))[:_DROPPED_TOPICS]
    popular[:, hottest] = 0.0
    positions, regions = draw_positions(random, subscriber_count)
    chosen = np.empty(subscriber_count, np.int64)
    for region in range(len(popular)):
        region_rows = np.flatnonzero(regions == region)
        share = popular[region] / popular[region].sum()
        chosen[region_rows] = random.choice(len(share), len(region_rows), p=share)
    subscribers = Subscribers.from_arrays(positions, lower[chosen], upper[chosen])
    return Problem(tree, subscribers, target_load=1.5, max_load=1.8)


def make_interests_problem(
    subscriber_count: int = 100_000,
    broker_count: int = 100,
    *,
    degree: int | None = None,
    seed: int = 0,
) -> Problem:
    """Return workload #2: fifty small boxes, independent of each other, with ten positions each.

    `degree` is the largest number of children of a top-level broker; None for a tree of one level.
    """
    random = np.random.default_rng([seed, 2])
    tree = make_broker_tree(random, broker_count, degree=degree)
    positions, _ = draw_positions(random, _POSITIONS)
    squares = random.uniform(0, _SIDE - 1, (50, 2))
    positions_by_box = random.integers(0, _POSITIONS, (50, 10))
    chosen = random.choice(50, subscriber_count, p=_compute_zipf_weights(50, 0.5))
    subscriber_positions = positions[
        positions_by_box[chosen, random.integers(0, 10, subscriber_count)]
    ]
    subscribers = Subscribers.from_arrays(
        subscriber_positions, squares[chosen], squares[chosen] + 1
    )
    return Problem(tree, subscribers, target_load=2.3, max_load=2.5)


def make_hot_spots_problem(
    subscriber_count: int = 100_000,
    broker_count: int = 100,
    *,
    degree: int | None = None,
    seed: int = 0,
) -> Problem:
    """Return workload #3: boxes around a hundred centres, at positions independent of the boxes.

    `degree` is the largest number of children of a top-level broker; None for a tree of one level.
    """
    random = np.random.default_rng([seed, 3])
    tree = make_broker_tree(random, broker_count, degree=degree)
    positions, _ = draw_positions(random, _POSITIONS)
    cell = random.permutation(100)[
        random.choice(100, subscriber_count, p=_compute_zipf_weights(100, 0.5))
    ]
    centres = (np.stack([cell % 10, cell // 10], axis=1) + 0.5) * _SIDE / 10
    width_rows = random.choice(
        len(_WIDTHS), (subscriber_count, 2), p=_compute_zipf_weights(len(_WIDTHS), 0.5)
    )
    half_widths = _WIDTHS[width_rows] / 2
    subscriber_positions = positions[random.integers(0, _POSITIONS, subscriber_count)]
    subscribers = Subscribers.from_arrays(
        subscriber_positions,
        np.maximum(0.0, centres - half_widths),
        np.minimum(_SIDE, centres + half_widths),
    )
    return Problem(tree, subscribers, target_load=1.3, max_load=1.5)


ASSIGNMENT_PROBLEMS = {
    "topics": make_topics_problem,
    "topics-broad": lambda *given, **more: make_topics_problem(*given, broad=True, **more),
    "topics-even": lambda *given, **more: make_topics_problem(*given, skewed=False, **more),
    "topics-even-broad": lambda *given, **more: make_topics_problem(
        *given, skewed=False, broad=True, **more
    ),
    "interests": make_interests_problem,
    "hot-spots": make_hot_spots_problem,
}
"""The six problems by name: functions of subscriber and broker counts, degree and seed."""


def _compute_zipf_weights(count: int, exponent: float) -> Floats:
    """Return the weights of Zipf's law with this exponent; they add up to 1."""
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    shares: Floats = weights / weights.sum()
    return shares


def _build_topic_tree(
    random: np.random.Generator,
) -> tuple[Floats, Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Return lower corner, upper corner, parent and level of each topic.

    The root is topic 0, on level 0, and has the parent -1.
    """
    boxes, parents, levels = [(0.0, 0.0, _SIDE, _SIDE)], [-1], [0]
    for topic in range((4**_LEVELS - 1) // 3):
        left, low, right, high = boxes[topic]
        x = left + (right - left) * random.uniform(0.3, 0.7)
        y = low + (high - low) * random.uniform(0.3, 0.7)
        boxes += [(left, low, x, y), (x, low, right, y), (left, y, x, high), (x, y, right, high)]
        parents += [topic] * 4
        levels += [levels[topic] + 1] * 4
    corners = np.array(boxes)
    return corners[:, :2], corners[:, 2:], np.array(parents), np.array(levels)


def _draw_popularity(
    random: np.random.Generator, parents: NDArray[np.int64], levels: NDArray[np.int64],
    skewed: bool, moved_up_share: float,
) -> Floats:  # fmt: skip
    """Return the popularity of each topic (column) in each region (row).

    `moved_up_share` of the popularity of each topic below level 1 is moved to the topic above it.
    """
    count = len(parents)
    weights = _compute_zipf_weights(count, 1.0)
    common = weights[random.permutation(count)]
    popular = np.stack([0.5 * common + 0.5 * weights[random.permutation(count)] for _ in range(3)])
    if not skewed:
        for topic in np.unique(parents[parents >= 0]):
            children = np.flatnonzero(parents == topic)
            mean = popular[:, children].mean(axis=1, keepdims=True)
            popular[:, children] += _DIFFUSION * (mean - popular[:, children])
    popular *= np.select([levels <= 1, levels == 2], [0.0, 0.05], 1.0)
    for topic in range(count - 1, 0, -1):
        if levels[topic] > 1:
            moved_share = moved_up_share * popular[:, topic]
            popular[:, parents[topic]] += moved_share
            popular[:, topic] -= moved_share
    return popular
