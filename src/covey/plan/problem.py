"""What is to be planned: subscribers, a tree of brokers, and what a plan must keep to.

(papers: assignment)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.errors import ValueRefused
from covey.plan.given import numbers
from covey.plan.tree import BrokerTree

__all__ = ["MOST_RECTANGLES", "Problem", "Subscribers", "rooms"]

MOST_RECTANGLES = 6
"""Of one filter: measures of unions are exact, and double with each rectangle."""

MOST_COORDINATES = 8
"""Of events that are counted, in a table whose axes are the fewer cuts the more there are."""

Floats = NDArray[np.float64]

_FACTORS = 3


@dataclass(frozen=True, slots=True)
class Subscribers:
    """Row i is at `positions[i]` of the network and wants what is within its box of event space."""

    positions: Floats
    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, positions: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> Subscribers:
        """From anything numpy reads; each box has some event."""
        places = numbers("positions", positions)
        low, high = numbers("lower ends", lower), numbers("upper ends", upper)
        if places.ndim != 2 or low.ndim != 2 or low.shape != high.shape or len(low) != len(places):
            raise ValueRefused(
                f"positions {places.shape}, lower ends {low.shape} and upper ends {high.shape} do "
                "not fit: a row of each for every subscriber"
            )
        finite = np.isfinite(places).all() and np.isfinite(low).all() and np.isfinite(high).all()
        if not finite:
            raise ValueRefused(
                "positions and ends of boxes are finite: leave out who is nowhere, and cut boxes "
                "to where events are"
            )
        if not low.shape[1]:
            raise ValueRefused("boxes have no side: give each subscriber a lower and an upper end")
        with np.errstate(over="ignore"):
            whole = (high.max(axis=0, initial=0.0) - low.min(axis=0, initial=0.0)).prod()
        if not np.isfinite(whole):
            raise ValueRefused("boxes are so far apart that volumes are beyond all numbers")
        empty = np.flatnonzero((low > high).any(axis=1))
        if len(empty):
            raise ValueRefused(
                f"subscriber {empty[0]} wants nothing: its lower ends are beyond its upper, or the "
                "two were given the other way round"
            )
        return cls(places, low, high)

    def __len__(self) -> int:
        return len(self.positions)

    def take(self, rows: NDArray[np.int64] | slice) -> Subscribers:
        """Some of them."""
        return Subscribers(self.positions[rows], self.lower[rows], self.upper[rows])


def rooms(shares: Floats, factor: float, total: int) -> NDArray[np.int64]:
    """How many of so many subscribers each leaf serves at most, at so many times its share.

    >>> rooms(np.array([0.25, 0.75]), 1.5, 10).tolist()
    [3, 10]
    """
    room = np.floor(factor * shares * total * (1 + 1e-12))
    return np.minimum(room, total).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Problem:
    """Subscribers to be served by the leaves of a tree, with as little bandwidth as can be.

    - `alpha`: of how many rectangles a broker's filter may consist.
    - `max_delay`: how much longer an event's way to a subscriber may be than the shortest through
      the tree: 0.3 is three tenths more.
    - `load`, `most_load`: how many times its fair share a broker should serve at most, and may.
    - `allowed`: a row for each subscriber that says which leaves may serve it, in the order of
      `tree.leaves`, instead of `max_delay`; for laws, say, that are no latency.
    - `capacity`: the fair share of each leaf, in the order of `tree.leaves`; without it, equal.
    - `events`: a sample of what is published. Bandwidth is then the share of events that come to
      brokers, summed over them; without it the volume of their filters, as if events were uniform.
    """

    tree: BrokerTree
    subscribers: Subscribers
    alpha: int = 3
    max_delay: float = 0.3
    load: float = 1.5
    most_load: float = 1.8
    allowed: NDArray[np.bool_] | None = None
    capacity: Floats | None = None
    events: Floats | None = None

    def __post_init__(self) -> None:
        self._read()
        d = self.subscribers.lower.shape[1]
        if self.subscribers.positions.shape[1] != len(self.tree.publisher):
            raise ValueRefused("subscribers and brokers are in networks of different dimensions")
        if not len(self.subscribers):
            raise ValueRefused("there is no subscriber: nothing is to be planned")
        if not (isinstance(self.alpha, int | np.integer) and 1 <= self.alpha <= MOST_RECTANGLES):
            raise ValueRefused(f"alpha is {self.alpha}: 1 to {MOST_RECTANGLES} rectangles")
        if not 0 <= self.max_delay < np.inf:
            raise ValueRefused(f"max_delay={self.max_delay}: a delay is 0 or more, and finite")
        if not 1 <= self.load <= self.most_load < np.inf:
            raise ValueRefused(
                f"load={self.load}, most_load={self.most_load}: 1 ≤ load ≤ most_load, and finite"
            )
        given, leaves = self.capacity, len(self.tree.leaves)
        if self.allowed is not None:
            if self.allowed.shape != (len(self.subscribers), leaves):
                raise ValueRefused(
                    f"allowed is of shape {self.allowed.shape}: a row for each subscriber, and a "
                    f"column for each of {leaves} leaves"
                )
            nowhere = np.flatnonzero(~self.allowed.any(axis=1))
            if len(nowhere):
                raise ValueRefused(f"subscriber {nowhere[0]} is allowed nowhere")
        is_share = given is None or ((given > 0) & np.isfinite(given)).all()
        if not is_share or (given is not None and given.shape != (leaves,)):
            raise ValueRefused(f"capacity has one positive share for each of {leaves} leaves")
        if self.events is not None and (self.events.ndim != 2 or self.events.shape[1] != d):
            raise ValueRefused(f"events have {d} coordinates each, as boxes have")
        if self.events is not None and d > MOST_COORDINATES:
            raise ValueRefused(
                f"events of {d} coordinates: at most {MOST_COORDINATES} where bandwidth is counted "
                "from events; leave them out, and it is volume"
            )
        if self.events is not None and not (len(self.events) and np.isfinite(self.events).all()):
            raise ValueRefused("a sample of events has some, of finite coordinates")

    def _read(self) -> None:
        """Takes anything numpy reads."""
        for name, kind in (("allowed", np.bool_), ("capacity", np.float64), ("events", np.float64)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, numbers(name, getattr(self, name), kind))

    @property
    def farthest(self) -> float:
        """How many times the shortest way a way may be; what rounding makes of it is allowed."""
        return (1 + self.max_delay) * (1 + 1e-9)

    @property
    def shares(self) -> Floats:
        """The fair share of each leaf; they add up to 1."""
        leaves = len(self.tree.leaves)
        given = np.ones(leaves) if self.capacity is None else self.capacity
        shares: Floats = given / given.sum()
        return shares

    def most(self, factor: float, total: int | None = None) -> NDArray[np.int64]:
        """How many subscribers each leaf serves at most, at so many times its share.

        Of all subscribers, or of so many that stand for them.
        """
        total = len(self.subscribers) if total is None else total
        return rooms(self.shares, factor, total)

    @property
    def factors(self) -> tuple[float, ...]:
        """The loads that are tried in turn, from the one that is wanted to the most.

        (papers: assignment)
        """
        return tuple(dict.fromkeys(np.linspace(self.load, self.most_load, _FACTORS).tolist()))

    def held_to(self, factor: float) -> Problem:
        """The same with brokers that may serve no more than so many times their fair share."""
        return replace(self, load=min(self.load, factor), most_load=factor)

    def joined(self, other: Problem) -> Problem:
        """The same for the subscribers of both."""
        mine, others = self.subscribers, other.subscribers
        wanted = Subscribers(
            np.concatenate([mine.positions, others.positions]),
            np.concatenate([mine.lower, others.lower]),
            np.concatenate([mine.upper, others.upper]),
        )
        allowed = None
        if self.allowed is not None and other.allowed is not None:
            allowed = np.concatenate([self.allowed, other.allowed])
        return replace(self, subscribers=wanted, allowed=allowed)

    def take(self, rows: NDArray[np.int64]) -> Problem:
        """The same for some of the subscribers."""
        allowed = None if self.allowed is None else self.allowed[rows]
        return replace(self, subscribers=self.subscribers.take(rows), allowed=allowed)
