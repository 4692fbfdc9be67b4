"""What is to be planned: subscribers, a tree of brokers, and what a plan must keep to.

(papers: assignment)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey._argument_checks import as_numeric_array, check_arguments, check_fields
from covey.errors import InvalidArgumentError
from covey.plan.model.broker_tree import BrokerTree

__all__ = ["MAX_RECTANGLES", "Problem", "Subscribers", "compute_leaf_capacities"]

MAX_RECTANGLES = 6
"""Of one filter: measures of unions are exact, and double with each rectangle."""

MAX_EVENT_DIMENSIONS = 8
"""Of events that are counted, in a table whose axes are the fewer cuts the more there are."""

Floats = NDArray[np.float64]

_LOAD_FACTOR_COUNT = 3
_MAX_FACTOR = 1e100  # beyond which delays and loads are as good as unlimited


@dataclass(frozen=True, slots=True)
class Subscribers:
    """Row i is at `positions[i]` of the network and wants what is within its box of event space."""

    positions: Floats
    lower: Floats
    upper: Floats

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    def from_arrays(cls, positions: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> Subscribers:
        """From anything numpy reads; each box has some event."""
        places = as_numeric_array("positions", positions)
        low, high = as_numeric_array("lower ends", lower), as_numeric_array("upper ends", upper)
        if places.ndim != 2 or low.ndim != 2 or low.shape != high.shape or len(low) != len(places):
            raise InvalidArgumentError(
                f"positions {places.shape}, lower ends {low.shape} and upper ends {high.shape} do "
                "not fit: a row of each for every subscriber"
            )
        finite = np.isfinite(places).all() and np.isfinite(low).all() and np.isfinite(high).all()
        if not finite:
            raise InvalidArgumentError(
                "positions and ends of boxes are finite: leave out who is nowhere, and cut boxes "
                "to where events are"
            )
        if not low.shape[1]:
            raise InvalidArgumentError(
                "boxes have no side: give each subscriber a lower and an upper end"
            )
        with np.errstate(over="ignore"):
            whole = (high.max(axis=0, initial=0.0) - low.min(axis=0, initial=0.0)).prod()
        if not np.isfinite(whole):
            raise InvalidArgumentError("boxes are so far apart that volumes are beyond all numbers")
        empty = np.flatnonzero((low > high).any(axis=1))
        if len(empty):
            raise InvalidArgumentError(
                f"subscriber {empty[0]} wants nothing: its lower ends are beyond its upper, or the "
                "two were given the other way round"
            )
        return cls(places, low, high)

    def __len__(self) -> int:
        return len(self.positions)

    def take(self, rows: NDArray[np.int64] | slice) -> Subscribers:
        """Some of them."""
        return Subscribers(self.positions[rows], self.lower[rows], self.upper[rows])


def compute_leaf_capacities(
    fair_shares: Floats, load_factor: float, subscriber_count: int
) -> NDArray[np.int64]:
    """How many of so many subscribers each leaf serves at most, at so many times its share.

    >>> compute_leaf_capacities(np.array([0.25, 0.75]), 1.5, 10).tolist()
    [3, 10]
    """
    room = np.floor(load_factor * fair_shares * subscriber_count * (1 + 1e-12))
    return np.minimum(room, subscriber_count).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Problem:
    """Subscribers to be served by the leaves of a tree, with as little bandwidth as can be.

    - `max_rectangles`: of how many rectangles a broker's filter may consist.
    - `max_delay`: how much longer an event's way to a subscriber may be than the shortest through
      the tree: 0.3 is three tenths more.
    - `target_load`, `max_load`: how many times its fair share a broker should serve at most, and
      may.
    - `allowed_leaves`: a row for each subscriber that says which leaves may serve it, in the order
      of `tree.leaves`, instead of `max_delay`; for laws, say, that are no latency.
    - `share_weights`: the fair share of each leaf, in the order of `tree.leaves`; without it,
      equal.
    - `event_sample`: a sample of what is published. Bandwidth is then the share of events that come
      to brokers, summed over them; without it the volume of their filters, as if events were
      uniform.
    """

    tree: BrokerTree
    subscribers: Subscribers
    max_rectangles: int = 3
    max_delay: float = 0.3
    target_load: float = 1.5
    max_load: float = 1.8
    allowed_leaves: NDArray[np.bool_] | None = None
    share_weights: Floats | None = None
    event_sample: Floats | None = None

    def __post_init__(self) -> None:
        self._convert_arrays()
        check_fields(self)
        d = self.subscribers.lower.shape[1]
        if self.subscribers.positions.shape[1] != len(self.tree.publisher):
            raise InvalidArgumentError(
                "subscribers and brokers are in networks of different dimensions"
            )
        if not len(self.subscribers):
            raise InvalidArgumentError("there is no subscriber: nothing is to be planned")
        if not 1 <= self.max_rectangles <= MAX_RECTANGLES:
            raise InvalidArgumentError(
                f"max_rectangles is {self.max_rectangles}: 1 to {MAX_RECTANGLES} rectangles"
            )
        if not 0 <= self.max_delay < np.inf:
            raise InvalidArgumentError(
                f"max_delay={self.max_delay}: a delay is 0 or more, and finite"
            )
        if not 1 <= self.target_load <= self.max_load < np.inf:
            raise InvalidArgumentError(
                f"target_load={self.target_load}, max_load={self.max_load}: "
                "1 ≤ target_load ≤ max_load, and finite"
            )
        for name in ("max_delay", "target_load", "max_load"):  # a huge int is no number to NumPy
            object.__setattr__(self, name, float(min(getattr(self, name), _MAX_FACTOR)))
        given, leaves = self.share_weights, len(self.tree.leaves)
        if self.allowed_leaves is not None:
            if self.allowed_leaves.shape != (len(self.subscribers), leaves):
                raise InvalidArgumentError(
                    f"allowed_leaves is of shape {self.allowed_leaves.shape}: "
                    f"a row for each subscriber, and a column for each of {leaves} leaves"
                )
            nowhere = np.flatnonzero(~self.allowed_leaves.any(axis=1))
            if len(nowhere):
                raise InvalidArgumentError(f"subscriber {nowhere[0]} is allowed nowhere")
        is_share = given is None or ((given > 0) & np.isfinite(given)).all()
        if not is_share or (given is not None and given.shape != (leaves,)):
            raise InvalidArgumentError(
                f"share_weights has one positive share for each of {leaves} leaves"
            )
        if self.event_sample is not None and (
            self.event_sample.ndim != 2 or self.event_sample.shape[1] != d
        ):
            raise InvalidArgumentError(f"events have {d} coordinates each, as boxes have")
        if self.event_sample is not None and d > MAX_EVENT_DIMENSIONS:
            raise InvalidArgumentError(
                f"events of {d} coordinates: at most {MAX_EVENT_DIMENSIONS} where bandwidth is "
                "counted from events; leave them out, and it is volume"
            )
        if self.event_sample is not None and not (
            len(self.event_sample) and np.isfinite(self.event_sample).all()
        ):
            raise InvalidArgumentError("a sample of events has some, of finite coordinates")

    def _convert_arrays(self) -> None:
        """Takes anything numpy reads."""
        for name, kind in (
            ("allowed_leaves", np.bool_),
            ("share_weights", np.float64),
            ("event_sample", np.float64),
        ):
            if getattr(self, name) is not None:
                object.__setattr__(
                    self, name, as_numeric_array(name, getattr(self, name), dtype=kind)
                )

    @property
    def max_stretch(self) -> float:
        """How many times the shortest way a way may be; what rounding makes of it is allowed."""
        return (1 + self.max_delay) * (1 + 1e-9)

    @property
    def fair_shares(self) -> Floats:
        """The fair share of each leaf; they add up to 1."""
        leaves = len(self.tree.leaves)
        given = np.ones(leaves) if self.share_weights is None else self.share_weights
        shares: Floats = given / given.sum()
        return shares

    @check_arguments
    def compute_capacities(
        self, load_factor: float, subscriber_count: int | None = None
    ) -> NDArray[np.int64]:
        """How many subscribers each leaf serves at most, at so many times its share.

        Of all subscribers, or of so many that stand for them.
        """
        subscriber_count = len(self.subscribers) if subscriber_count is None else subscriber_count
        return compute_leaf_capacities(self.fair_shares, load_factor, subscriber_count)

    @property
    def load_factors(self) -> tuple[float, ...]:
        """The loads that are tried in turn, from the one that is wanted to the most.

        (papers: assignment)
        """
        return tuple(
            dict.fromkeys(np.linspace(self.target_load, self.max_load, _LOAD_FACTOR_COUNT).tolist())
        )

    @check_arguments
    def with_max_load(self, max_load: float) -> Problem:
        """The same with brokers that may serve no more than so many times their fair share."""
        return replace(self, target_load=min(self.target_load, max_load), max_load=max_load)

    def concat_subscribers(self, other: Problem) -> Problem:
        """The same for the subscribers of both."""
        mine, others = self.subscribers, other.subscribers
        wanted = Subscribers(
            np.concatenate([mine.positions, others.positions]),
            np.concatenate([mine.lower, others.lower]),
            np.concatenate([mine.upper, others.upper]),
        )
        allowed = None
        if self.allowed_leaves is not None and other.allowed_leaves is not None:
            allowed = np.concatenate([self.allowed_leaves, other.allowed_leaves])
        return replace(self, subscribers=wanted, allowed_leaves=allowed)

    def take(self, rows: NDArray[np.int64]) -> Problem:
        """The same for some of the subscribers."""
        allowed = None if self.allowed_leaves is None else self.allowed_leaves[rows]
        return replace(self, subscribers=self.subscribers.take(rows), allowed_leaves=allowed)
