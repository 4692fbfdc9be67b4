"""A plan: who is served where, by which filters, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from covey.errors import ValueRefused
from covey.plan.filters import Filters
from covey.plan.problem import Problem
from covey.plan.reach import chunks, lengths_to
from covey.plan.tree import PUBLISHER, BrokerTree

__all__ = ["Plan", "Violations", "unnested"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Violations:
    """What a plan does not keep to; all are 0 if it is valid.

    Subscribers who wait too long for events, or are not allowed their broker (`late`), who want
    events that their broker does not get (`uncovered`), or for whom it has no room (`beyond`: those
    above `most_load`); brokers whose filter is not within that of the broker above (`unnested`) or
    is of more than `alpha` rectangles (`complex`).
    """

    late: int
    uncovered: int
    beyond: int
    unnested: int
    complex: int

    @property
    def is_valid(self) -> bool:
        """Whether there are none."""
        return not (self.late or self.uncovered or self.beyond or self.unnested or self.complex)


@dataclass(frozen=True)
class Plan:
    """`assignment[s]` is the broker, a leaf, that serves subscriber s.

    `bound`, if it is known, is a bandwidth that no plan of the problem can go below.
    """

    problem: Problem
    assignment: NDArray[np.int32]
    filters: Filters
    bound: float | None = None

    def __post_init__(self) -> None:
        problem, d = self.problem, self.problem.subscribers.lower.shape[1]
        if len(self.filters) != len(problem.tree) or self.filters.lower.shape[2] != d:
            raise ValueRefused(
                f"filters of {len(self.filters)} brokers and {self.filters.lower.shape[2]} "
                f"coordinates: the problem has {len(problem.tree)} brokers and {d} coordinates"
            )
        if self.assignment.shape != (len(problem.subscribers),):
            raise ValueRefused(
                f"an assignment of shape {self.assignment.shape}: a leaf for each of "
                f"{len(problem.subscribers)} subscribers"
            )
        is_leaf = np.zeros(len(problem.tree) + 1, np.bool_)
        is_leaf[problem.tree.leaves] = True
        within = (self.assignment >= 0) & (self.assignment < len(problem.tree))
        wrong = np.flatnonzero(~is_leaf[np.where(within, self.assignment, -1)])
        if len(wrong):
            at = self.assignment[wrong[0]]
            raise ValueRefused(f"subscriber {wrong[0]} is served by {at}, which is no leaf")

    @cached_property
    def received(self) -> Floats:
        """What comes to each broker: the volume of its filter, or the share of events in it."""
        return self.filters.bandwidth(self.problem.events)

    @property
    def bandwidth(self) -> float:
        """What comes to all brokers together."""
        return float(self.received.sum())

    @cached_property
    def loads(self) -> NDArray[np.int64]:
        """How many subscribers each leaf serves, in the order of `problem.tree.leaves`."""
        leaves = self.problem.tree.leaves
        return np.bincount(self.assignment, minlength=len(self.problem.tree))[leaves]

    @property
    def load_factor(self) -> float:
        """The most load of a leaf, in multiples of its fair share."""
        fair = self.problem.shares * len(self.assignment)
        return float((self.loads / fair).max())

    @property
    def factor(self) -> float | None:
        """The least load that is tried within which all leaves are; None if they are in none."""
        for factor in self.problem.factors:
            if (self.loads <= self.problem.most(factor)).all():
                return factor
        return None

    @cached_property
    def delays(self) -> Floats:
        """How much longer each subscriber's way is than the shortest: 0.3 is three tenths more."""
        places = self.problem.subscribers.positions
        leaf_of = np.searchsorted(self.problem.tree.leaves, self.assignment)
        delays = np.empty(len(places))
        for rows in chunks(len(places)):
            total = lengths_to(self.problem.tree, places[rows])
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
                uncovered += self._uncovered(broker, rows, boxes)
        beyond = np.maximum(0, self.loads - problem.most(problem.most_load)).sum()
        is_complex = np.count_nonzero(self.filters.counts > problem.alpha)
        return Violations(
            self._late(),
            uncovered,
            int(beyond),
            unnested(problem.tree, self.filters),
            int(is_complex),
        )

    def _late(self) -> int:
        """How many are served by a broker that is too far, or that they are not allowed to have."""
        if self.problem.allowed is None:
            return int(np.count_nonzero(1 + self.delays > self.problem.farthest))
        leaf_of = np.searchsorted(self.problem.tree.leaves, self.assignment)
        return int(np.count_nonzero(~self.problem.allowed[np.arange(len(leaf_of)), leaf_of]))

    def _uncovered(self, broker: int, rows: NDArray[np.int64], boxes: Floats) -> int:
        """How many of a broker's subscribers want events that it does not get."""
        wanted = self.problem.subscribers
        d = wanted.lower.shape[1]
        missed = boxes[~self.filters.covers(broker, boxes[:, :d], boxes[:, d:])]
        count = 0
        for box in missed:
            is_it = (wanted.lower[rows] == box[:d]) & (wanted.upper[rows] == box[d:])
            count += int(np.count_nonzero(is_it.all(axis=1)))
        return count


def unnested(tree: BrokerTree, filters: Filters) -> int:
    """How many brokers have a filter that is not within that of the broker above."""
    return sum(
        not filters.covers(parent, *filters.of(broker)).all()
        for broker, parent in enumerate(tree.parents.tolist())
        if parent != PUBLISHER
    )
