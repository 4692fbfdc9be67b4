"""The workloads of the assignment paper, as problems of any size.

*Topics* (#1) stands in for one whose generator the paper does not print: topics form a tree of
rectangles, each cut in four, five levels deep; how popular each is follows Zipf's law, half of it
common to all regions and half of each region's own; the hundred most popular are left out. Skewed
interests are as drawn, otherwise siblings are pulled towards their mean by 55%, which leaves a
fifth of their variance (the paper reduces the variance by 55%), and the two upper levels are
damped; of broad ones a tenth moves up from every topic to the one above it, else a hundredth.

*Interests* (#2) are fifty unit squares, each wanted at ten places. *Hot spots* (#3) are boxes round
the centres of a hundred cells, of widths that are drawn for each side, wanted anywhere.
(papers: assignment)
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
_POSITIONS = 1000  # in the network, where subscribers can be
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
    """Set #1: the baseline of the paper is skewed and not broad."""
    random = np.random.default_rng([seed, 1])
    tree = make_broker_tree(random, broker_count, degree=degree)
    lower, upper, parents, levels = _build_topic_tree(random)
    popular = _draw_popularity(random, parents, levels, skewed, _BROAD if broad else _RARE)
    hottest = np.argsort(-(popular * np.array([[4], [1], [4]])).sum(axis=0))[:_DROPPED_TOPICS]
    popular[:, hottest] = 0.0
    places, regions = draw_positions(random, subscriber_count)
    chosen = np.empty(subscriber_count, np.int64)
    for region in range(len(popular)):
        mine = np.flatnonzero(regions == region)
        share = popular[region] / popular[region].sum()
        chosen[mine] = random.choice(len(share), len(mine), p=share)
    wanted = Subscribers.from_arrays(places, lower[chosen], upper[chosen])
    return Problem(tree, wanted, target_load=1.5, max_load=1.8)


def make_interests_problem(
    subscriber_count: int = 100_000,
    broker_count: int = 100,
    *,
    degree: int | None = None,
    seed: int = 0,
) -> Problem:
    """Set #2: topics with ten places each, and nothing that is near to anything."""
    random = np.random.default_rng([seed, 2])
    tree = make_broker_tree(random, broker_count, degree=degree)
    places, _ = draw_positions(random, _POSITIONS)
    squares = random.uniform(0, _SIDE - 1, (50, 2))
    where = random.integers(0, _POSITIONS, (50, 10))
    chosen = random.choice(50, subscriber_count, p=_compute_zipf_weights(50, 0.5))
    at = places[where[chosen, random.integers(0, 10, subscriber_count)]]
    wanted = Subscribers.from_arrays(at, squares[chosen], squares[chosen] + 1)
    return Problem(tree, wanted, target_load=2.3, max_load=2.5)


def make_hot_spots_problem(
    subscriber_count: int = 100_000,
    broker_count: int = 100,
    *,
    degree: int | None = None,
    seed: int = 0,
) -> Problem:
    """Set #3: boxes round a hundred centres, at places that have nothing to do with them."""
    random = np.random.default_rng([seed, 3])
    tree = make_broker_tree(random, broker_count, degree=degree)
    places, _ = draw_positions(random, _POSITIONS)
    cell = random.permutation(100)[
        random.choice(100, subscriber_count, p=_compute_zipf_weights(100, 0.5))
    ]
    centres = (np.stack([cell % 10, cell // 10], axis=1) + 0.5) * _SIDE / 10
    drawn = random.choice(
        len(_WIDTHS), (subscriber_count, 2), p=_compute_zipf_weights(len(_WIDTHS), 0.5)
    )
    half = _WIDTHS[drawn] / 2
    at = places[random.integers(0, _POSITIONS, subscriber_count)]
    wanted = Subscribers.from_arrays(
        at, np.maximum(0.0, centres - half), np.minimum(_SIDE, centres + half)
    )
    return Problem(tree, wanted, target_load=1.3, max_load=1.5)


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
"""All six, by name."""


def _compute_zipf_weights(count: int, exponent: float) -> Floats:
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    shares: Floats = weights / weights.sum()
    return shares


def _build_topic_tree(
    random: np.random.Generator,
) -> tuple[Floats, Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Lower and upper corners of topics, the topic above each, and its level; the root is first."""
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
    """How popular each topic is in each region."""
    count = len(parents)
    law = _compute_zipf_weights(count, 1.0)
    common = law[random.permutation(count)]
    popular = np.stack([0.5 * common + 0.5 * law[random.permutation(count)] for _ in range(3)])
    if not skewed:
        for topic in np.unique(parents[parents >= 0]):
            below = np.flatnonzero(parents == topic)
            mean = popular[:, below].mean(axis=1, keepdims=True)
            popular[:, below] += _DIFFUSION * (mean - popular[:, below])
    popular *= np.select([levels <= 1, levels == 2], [0.0, 0.05], 1.0)
    for topic in range(count - 1, 0, -1):
        if levels[topic] > 1:
            given = moved_up_share * popular[:, topic]
            popular[:, parents[topic]] += given
            popular[:, topic] -= given
    return popular
