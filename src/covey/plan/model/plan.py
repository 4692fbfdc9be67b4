"""Plan: the assignment of subscribers to leaf brokers, the filters, and the checks of both."""

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
    """Numbers of violated conditions of a plan; all are 0 if the plan is valid.

    Args:
        too_far: subscribers whose delay is more than `max_delay`; if the problem has
            `allowed_leaves`, subscribers whose leaf is not among their allowed leaves instead.
        uncovered: subscribers whose box is not within the filter of their leaf.
        over_capacity: subscribers beyond the capacities of leaves at `max_load`.
        not_nested: brokers whose filter is not within the filter of their parent.
        too_many_rectangles: brokers whose filter has more than `max_rectangles` rectangles.
    """

    too_far: int
    uncovered: int
    over_capacity: int
    not_nested: int
    too_many_rectangles: int

    @property
    def is_valid(self) -> bool:
        """True if there is no violation."""
        return not (
            self.too_far
            or self.uncovered
            or self.over_capacity
            or self.not_nested
            or self.too_many_rectangles
        )


@dataclass(frozen=True)
class Plan:
    """Assignment of all subscribers of a problem, and the filters of all brokers.

    Args:
        problem: what the plan is for.
        assignment: `assignment[s]` is the number of the leaf broker that serves subscriber s.
        filters: the rectangles of each broker.
        lower_bound: a bandwidth that no plan of the problem can go below; None if it is not known.

    Raises:
        InvalidArgumentError: if the filters or the assignment do not fit the problem, or a
            subscriber is served by a broker that is not a leaf.
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
                f"filters of {len(self.filters)} brokers with {self.filters.lower.shape[2]} "
                f"coordinates do not fit the problem, which has {len(problem.tree)} brokers and "
                f"boxes with {d} coordinates: give filters that were made for this problem"
            )
        if self.assignment.shape != (len(problem.subscribers),):
            raise InvalidArgumentError(
                f"assignment has shape {self.assignment.shape}: give the number of a leaf broker "
                f"for each of {len(problem.subscribers)} subscribers"
            )
        is_leaf = np.zeros(len(problem.tree) + 1, np.bool_)
        is_leaf[problem.tree.leaves] = True
        is_broker = (self.assignment >= 0) & (self.assignment < len(problem.tree))
        wrong = np.flatnonzero(~is_leaf[np.where(is_broker, self.assignment, -1)])
        if len(wrong):
            broker = self.assignment[wrong[0]]
            raise InvalidArgumentError(
                f"subscriber {wrong[0]} is served by broker {broker}, which is not a leaf of the "
                "broker tree: give one of tree.leaves"
            )

    @cached_property
    def bandwidth_by_broker(self) -> Floats:
        """Bandwidth of each broker: the volume of its filter, or the share of events in it."""
        return self.filters.compute_bandwidth(self.problem.event_sample)

    @property
    def bandwidth(self) -> float:
        """Bandwidth of all brokers together."""
        return float(self.bandwidth_by_broker.sum())

    @cached_property
    def loads(self) -> NDArray[np.int64]:
        """Number of subscribers that each leaf serves, in the order of `problem.tree.leaves`."""
        leaves = self.problem.tree.leaves
        return np.bincount(self.assignment, minlength=len(self.problem.tree))[leaves]

    @property
    def load_factor(self) -> float:
        """Largest load of a leaf, in multiples of its fair share."""
        fair = self.problem.fair_shares * len(self.assignment)
        return float((self.loads / fair).max())

    @property
    def feasible_load_factor(self) -> float | None:
        """Smallest factor of `problem.load_factors` that no leaf exceeds; None if there is none."""
        for factor in self.problem.load_factors:
            if (self.loads <= self.problem.compute_capacities(factor)).all():
                return factor
        return None

    @cached_property
    def delays(self) -> Floats:
        """Delay of each subscriber, as a share of the shortest path: 0.3 is three tenths longer."""
        positions = self.problem.subscribers.positions
        leaf_of = np.searchsorted(self.problem.tree.leaves, self.assignment)
        delays = np.empty(len(positions))
        for rows in iter_row_chunks(len(positions)):
            total = compute_leaf_distances(self.problem.tree, positions[rows])
            actual = total[np.arange(len(total)), leaf_of[rows]]
            shortest, if_zero = total.min(axis=1), np.where(actual > 0, np.inf, 1.0)
            delays[rows] = np.divide(actual, shortest, out=if_zero, where=shortest > 0) - 1
        return delays

    def verify(self) -> Violations:
        """Count all violations of the limits of the problem.

        Delays, loads and coverage are computed from positions, boxes and filters.

        Cost: a distance for each subscriber and leaf, and a comparison for each subscriber and
        rectangle of its broker.
        """
        problem = self.problem
        subscribers = problem.subscribers
        uncovered = 0
        by_broker = np.argsort(self.assignment, kind="stable")
        bounds = np.searchsorted(self.assignment[by_broker], np.arange(len(problem.tree) + 1))
        for broker in range(len(problem.tree)):
            rows = by_broker[bounds[broker] : bounds[broker + 1]]
            if len(rows):
                boxes = np.unique(
                    np.hstack([subscribers.lower[rows], subscribers.upper[rows]]), axis=0
                )
                uncovered += self._count_uncovered(broker, rows, boxes)
        over_capacity = np.maximum(
            0, self.loads - problem.compute_capacities(problem.max_load)
        ).sum()
        is_complex = np.count_nonzero(self.filters.rectangle_counts > problem.max_rectangles)
        return Violations(
            self._count_too_far(),
            uncovered,
            int(over_capacity),
            count_not_nested(problem.tree, self.filters),
            int(is_complex),
        )

    def _count_too_far(self) -> int:
        """Return the number of subscribers whose leaf is too far away or not allowed for them."""
        if self.problem.allowed_leaves is None:
            return int(np.count_nonzero(1 + self.delays > self.problem.max_stretch))
        leaf_of = np.searchsorted(self.problem.tree.leaves, self.assignment)
        return int(np.count_nonzero(~self.problem.allowed_leaves[np.arange(len(leaf_of)), leaf_of]))

    def _count_uncovered(self, broker: int, rows: NDArray[np.int64], boxes: Floats) -> int:
        """Return how many subscribers of a broker have a box that its filter does not contain.

        Args:
            broker: the number of the broker.
            rows: the subscribers that it serves.
            boxes: the distinct boxes of these subscribers, one row each, lower ends before upper
                ends.
        """
        subscribers = self.problem.subscribers
        d = subscribers.lower.shape[1]
        missed = boxes[~self.filters.covers(broker, boxes[:, :d], boxes[:, d:])]
        count = 0
        for box in missed:
            wants_box = (subscribers.lower[rows] == box[:d]) & (subscribers.upper[rows] == box[d:])
            count += int(np.count_nonzero(wants_box.all(axis=1)))
        return count


def count_not_nested(tree: BrokerTree, filters: BrokerFilters) -> int:
    """Return the number of brokers whose filter is not within the filter of their parent."""
    return sum(
        not filters.covers(parent, *filters.rectangles_of(broker)).all()
        for broker, parent in enumerate(tree.parents.tolist())
        if parent != PUBLISHER
    )
