"""A plan: who is served where, by which filters, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from covey._argument_checks import check_fields
from covey.errors import InvalidArgumentError
from covey.plan.model.broker_tree import (
    PUBLISHER,
    BrokerTree,
    compute_leaf_distances,
    iter_row_chunks,
)
from covey.plan.model.filters import BrokerFilters
from covey.plan.model.problem import Problem

__all__ = ["Plan", "Violations", "count_not_nested"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Violations:
    """What a plan does not keep to; all are 0 if it is valid.

    Subscribers who wait too long for events, or are not allowed their broker (`late`), who want
    events that their broker does not get (`uncovered`), or for whom it has no room (`beyond`: those
    above `max_load`); brokers whose filter is not within that of the broker above (`unnested`) or
    is of more than `max_rectangles` rectangles (`too_many_rectangles`).
    """

    too_far: int
    uncovered: int
    over_capacity: int
    not_nested: int
    too_many_rectangles: int

    @property
    def is_valid(self) -> bool:
        """Whether there are none."""
        return not (
            self.too_far
            or self.uncovered
            or self.over_capacity
            or self.not_nested
            or self.too_many_rectangles
        )


@dataclass(frozen=True)
class Plan:
    """`assignment[s]` is the broker, a leaf, that serves subscriber s.

    `bound`, if it is known, is a bandwidth that no plan of the problem can go below.
    """

    problem: Problem
    assignment: NDArray[np.int32]
    filters: BrokerFilters
    lower_bound: float | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        problem, d = self.problem, self.problem.subscribers.lower.shape[1]
        if len(self.filters) != len(problem.tree) or self.filters.lower.shape[2] != d:
            raise InvalidArgumentError(
                f"filters of {len(self.filters)} brokers and {self.filters.lower.shape[2]} "
                f"coordinates: the problem has {len(problem.tree)} brokers and {d} coordinates"
            )
        if self.assignment.shape != (len(problem.subscribers),):
            raise InvalidArgumentError(
                f"an assignment of shape {self.assignment.shape}: a leaf for each of "
                f"{len(problem.subscribers)} subscribers"
            )
        is_leaf = np.zeros(len(problem.tree) + 1, np.bool_)
        is_leaf[problem.tree.leaves] = True
        within = (self.assignment >= 0) & (self.assignment < len(problem.tree))
        wrong = np.flatnonzero(~is_leaf[np.where(within, self.assignment, -1)])
        if len(wrong):
            at = self.assignment[wrong[0]]
            raise InvalidArgumentError(f"subscriber {wrong[0]} is served by {at}, which is no leaf")

    @cached_property
    def bandwidth_by_broker(self) -> Floats:
        """What comes to each broker: the volume of its filter, or the share of events in it."""
        return self.filters.compute_bandwidth(self.problem.event_sample)

    @property
    def bandwidth(self) -> float:
        """What comes to all brokers together."""
        return float(self.bandwidth_by_broker.sum())

    @cached_property
    def loads(self) -> NDArray[np.int64]:
        """How many subscribers each leaf serves, in the order of `problem.build_tree.leaves`."""
        leaves = self.problem.tree.leaves
        return np.bincount(self.assignment, minlength=len(self.problem.tree))[leaves]

    @property
    def load_factor(self) -> float:
        """The most load of a leaf, in multiples of its fair share."""
        fair = self.problem.fair_shares * len(self.assignment)
        return float((self.loads / fair).max())

    @property
    def feasible_load_factor(self) -> float | None:
        """The least load that is tried within which all leaves are; None if they are in none."""
        for factor in self.problem.load_factors:
            if (self.loads <= self.problem.compute_capacities(factor)).all():
                return factor
        return None

    @cached_property
    def delays(self) -> Floats:
        """How much longer each subscriber's way is than the shortest: 0.3 is three tenths more."""
        places = self.problem.subscribers.positions
        leaf_of = np.searchsorted(self.problem.tree.leaves, self.assignment)
        delays = np.empty(len(places))
        for rows in iter_row_chunks(len(places)):
            total = compute_leaf_distances(self.problem.tree, places[rows])
            taken = total[np.arange(len(total)), leaf_of[rows]]
            shortest, none = total.min(axis=1), np.where(taken > 0, np.inf, 1.0)
            delays[rows] = np.divide(taken, shortest, out=none, where=shortest > 0) - 1
        return delays

    def verify(self) -> Violations:
        """Computes everything that a plan must keep to anew, from positions and boxes.

        Cost: a distance for each subscriber and leaf, and a comparison for each subscriber and
        rectangle of its broker.
        """
        problem = self.problem
        wanted = problem.subscribers
        uncovered = 0
        by_broker = np.argsort(self.assignment, kind="stable")
        bounds = np.searchsorted(self.assignment[by_broker], np.arange(len(problem.tree) + 1))
        for broker in range(len(problem.tree)):
            rows = by_broker[bounds[broker] : bounds[broker + 1]]
            if len(rows):
                boxes = np.unique(np.hstack([wanted.lower[rows], wanted.upper[rows]]), axis=0)
                uncovered += self._count_uncovered(broker, rows, boxes)
        beyond = np.maximum(0, self.loads - problem.compute_capacities(problem.max_load)).sum()
        is_complex = np.count_nonzero(self.filters.rectangle_counts > problem.max_rectangles)
        return Violations(
            self._count_too_far(),
            uncovered,
            int(beyond),
            count_not_nested(problem.tree, self.filters),
            int(is_complex),
        )

    def _count_too_far(self) -> int:
        """How many are served by a broker that is too far, or that they are not allowed to have."""
        if self.problem.allowed_leaves is None:
            return int(np.count_nonzero(1 + self.delays > self.problem.max_stretch))
        leaf_of = np.searchsorted(self.problem.tree.leaves, self.assignment)
        return int(np.count_nonzero(~self.problem.allowed_leaves[np.arange(len(leaf_of)), leaf_of]))

    def _count_uncovered(self, broker: int, rows: NDArray[np.int64], boxes: Floats) -> int:
        """How many of a broker's subscribers want events that it does not get."""
        wanted = self.problem.subscribers
        d = wanted.lower.shape[1]
        missed = boxes[~self.filters.covers(broker, boxes[:, :d], boxes[:, d:])]
        count = 0
        for box in missed:
            is_it = (wanted.lower[rows] == box[:d]) & (wanted.upper[rows] == box[d:])
            count += int(np.count_nonzero(is_it.all(axis=1)))
        return count


def count_not_nested(tree: BrokerTree, filters: BrokerFilters) -> int:
    """How many brokers have a filter that is not within that of the broker above."""
    return sum(
        not filters.covers(parent, *filters.rectangles_of(broker)).all()
        for broker, parent in enumerate(tree.parents.tolist())
        if parent != PUBLISHER
    )
