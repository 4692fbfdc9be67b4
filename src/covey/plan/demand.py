"""Subscribers who are alike, put together: the same box, and the same brokers near enough.

What is planned with then does not grow with the number of subscribers, only with how many different
ones there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.plan.cells import Boxes, Cells
from covey.plan.kernels.unions import Measure
from covey.plan.problem import Problem

__all__ = ["Demand", "feasible", "path_lengths"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]

_AT_ONCE = 1 << 15  # subscribers whose distances are held at once
_CELLS = 1 << 24  # of a table that counts events
_CUTS = 1024  # of an axis


@dataclass(frozen=True, slots=True)
class Demand:
    """Kinds of boxes, sets of leaves, and groups that have one of each.

    Subscriber s is of group `group_of[s]`; group g wants `kinds[kind_of[g]]`, may be served by
    `sets[set_of[g]]`, and has `counts[g]` subscribers.

    Cost: a distance for each subscriber and leaf, and a sort of the subscribers.
    """

    cells: Cells
    measure: Measure
    kinds: Boxes
    sets: Bools
    kind_of: Numbers
    set_of: Numbers
    counts: NDArray[np.int64]
    group_of: Numbers

    @classmethod
    def of(cls, problem: Problem, with_latency: bool = True) -> Demand:
        """The groups of a problem; without latency every leaf may serve everybody."""
        lower, upper = problem.subscribers.lower, problem.subscribers.upper
        d = lower.shape[1]
        most = _CUTS if problem.events is None else min(_CUTS, int(_CELLS ** (1 / d)) // 2)
        cells = Cells.of(lower, upper, most)
        measure = cells.volumes if problem.events is None else cells.counted(problem.events)
        kinds, kind_of = _distinct(cells.boxes(lower, upper))
        if with_latency:
            sets, set_of = _sets(problem)
        else:
            sets = np.ones((1, len(problem.tree.leaves)), np.bool_)
            set_of = np.zeros(len(kind_of), np.int32)
        groups, group_of = _distinct(np.stack([kind_of, set_of], axis=1))
        counts = np.bincount(group_of, minlength=len(groups))
        return cls(cells, measure, kinds, sets, groups[:, 0], groups[:, 1], counts, group_of)


def feasible(problem: Problem) -> Iterator[Bools]:
    """Which leaves may serve subscribers, some subscribers at a time: a column for each leaf."""
    places = problem.subscribers.positions
    for start in range(0, len(places), _AT_ONCE):
        if problem.allowed is not None:
            yield problem.allowed[start : start + _AT_ONCE]
            continue
        total = path_lengths(problem, places[start : start + _AT_ONCE])
        yield total <= (1 + problem.max_delay) * total.min(axis=1, keepdims=True)


def path_lengths(problem: Problem, places: Floats) -> Floats:
    """How far each of some places is from the publisher by way of each leaf."""
    leaves = problem.tree.leaves
    brokers, latency = problem.tree.brokers[leaves], problem.tree.latency[leaves]
    total: Floats = np.empty((len(places), len(leaves)))
    for column in range(len(leaves)):
        away = places - brokers[column]
        total[:, column] = np.sqrt(np.einsum("ij,ij->i", away, away)) + latency[column]
    return total


def _sets(problem: Problem) -> tuple[Bools, Numbers]:
    leaves = len(problem.tree.leaves)
    packed = np.concatenate([np.packbits(some, axis=1) for some in feasible(problem)])
    sets, set_of = _distinct(packed)
    return np.unpackbits(sets, axis=1, count=leaves).view(np.bool_), set_of


def _distinct(rows: NDArray[Any]) -> tuple[NDArray[Any], Numbers]:
    """The rows that are there, each once, and for each row which of them it is."""
    whole = np.ascontiguousarray(rows)
    keys = whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    return whole[first], of.ravel().astype(np.int32)
