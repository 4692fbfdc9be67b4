"""Problem to plan for: subscribers, a broker tree, and the limits that a plan must respect.

The terms follow the assignment paper. (papers: assignment)
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
"""Largest allowed `max_rectangles`.

The volume of a filter is computed exactly, and the cost of this doubles with each rectangle.
"""

MAX_EVENT_DIMENSIONS = 8
"""Largest number of coordinates of sampled events.

Events are counted in one table of limited size, so that more axes mean fewer boundaries per axis.
"""

Floats = NDArray[np.float64]

_LOAD_FACTOR_COUNT = 3
_MAX_FACTOR = 1e100  # larger delays and load factors are reduced to this: practically unlimited


@dataclass(frozen=True, slots=True)
class Subscribers:
    """Positions and boxes of subscribers, one row each.

    Args:
        positions: coordinates of each subscriber in the network space.
        lower: lower ends of each subscriber's box in event space; they belong to the box.
        upper: upper ends of each subscriber's box; they belong to the box.
    """

    positions: Floats
    lower: Floats
    upper: Floats

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    def from_arrays(cls, positions: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> Subscribers:
        """Return subscribers from anything that NumPy converts to arrays of numbers.

        Each argument has one row for each subscriber.

        Raises:
            InvalidArgumentError: if the shapes do not fit together, a number is not finite, boxes
                have no coordinate, a lower end is above its upper end, or volumes are too large for
                floating-point numbers.
        """
        coordinates = as_numeric_array("positions", positions)
        low, high = as_numeric_array("lower ends", lower), as_numeric_array("upper ends", upper)
        if (
            coordinates.ndim != 2
            or low.ndim != 2
            or low.shape != high.shape
            or len(low) != len(coordinates)
        ):
            raise InvalidArgumentError(
                f"positions of shape {coordinates.shape}, lower ends of shape {low.shape} and "
                f"upper ends of shape {high.shape} do not fit together: give one row of each for "
                "every subscriber"
            )
        finite = (
            np.isfinite(coordinates).all() and np.isfinite(low).all() and np.isfinite(high).all()
        )
        if not finite:
            raise InvalidArgumentError(
                "positions and ends of boxes must be finite: leave out subscribers without a "
                "position, and clip boxes to the range of events"
            )
        if not low.shape[1]:
            raise InvalidArgumentError(
                "boxes have no coordinate: give each subscriber at least one lower and upper end"
            )
        with np.errstate(over="ignore"):
            total_volume = (high.max(axis=0, initial=0.0) - low.min(axis=0, initial=0.0)).prod()
        if not np.isfinite(total_volume):
            raise InvalidArgumentError(
                "the box that encloses the origin and all boxes has a volume above the largest "
                "floating-point number: scale the coordinates of boxes down"
            )
        empty = np.flatnonzero((low > high).any(axis=1))
        if len(empty):
            raise InvalidArgumentError(
                f"subscriber {empty[0]} has an empty box: a lower end is above its upper end; "
                "were the two exchanged?"
            )
        return cls(coordinates, low, high)

    def __len__(self) -> int:
        return len(self.positions)

    def take(self, rows: NDArray[np.int64] | slice) -> Subscribers:
        """Return the subscribers of these rows."""
        return Subscribers(self.positions[rows], self.lower[rows], self.upper[rows])


def compute_leaf_capacities(
    fair_shares: Floats, load_factor: float, subscriber_count: int
) -> NDArray[np.int64]:
    """Return the capacity of each leaf at a load factor.

    The capacity is the product of load factor, fair share and number of subscribers, rounded down,
    but at most the number of subscribers.

    >>> compute_leaf_capacities(np.array([0.25, 0.75]), 1.5, 10).tolist()
    [3, 10]
    """
    capacities = np.floor(load_factor * fair_shares * subscriber_count * (1 + 1e-12))
    return np.minimum(capacities, subscriber_count).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Problem:
    """Subscribers to be served by the leaves of a broker tree with as little bandwidth as possible.

    Args:
        tree: the publisher and the brokers.
        subscribers: positions and boxes.
        max_rectangles: the largest number of rectangles of a broker's filter.
        max_delay: how much longer the path to a subscriber may be than the shortest one through the
            tree, as a share: 0.3 is three tenths more.
        target_load: the load factor that a leaf should not exceed, in multiples of its fair share.
        max_load: the load factor that no leaf may exceed.
        allowed_leaves: True where a subscriber (row) may be served by a leaf (column, in the order
            of `tree.leaves`). It replaces `max_delay`, for example where laws decide instead of
            latency.
        share_weights: the relative fair share of each leaf, in the order of `tree.leaves`; by
            default all are equal.
        event_sample: coordinates of a sample of published events, one row each. With it, bandwidth
            is the share of events that each broker receives, summed over brokers; without it, the
            volume of all filters, as if events were uniform.

    Raises:
        InvalidArgumentError: if an argument is out of its range or does not fit the others.
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
                "subscribers and brokers must have positions with the same number of coordinates, "
                f"got {self.subscribers.positions.shape[1]} and {len(self.tree.publisher)}"
            )
        if not len(self.subscribers):
            raise InvalidArgumentError("there is no subscriber: give at least one")
        if not 1 <= self.max_rectangles <= MAX_RECTANGLES:
            raise InvalidArgumentError(
                f"max_rectangles must be from 1 to {MAX_RECTANGLES}, got {self.max_rectangles}"
            )
        if not 0 <= self.max_delay < np.inf:
            raise InvalidArgumentError(
                f"max_delay must be at least 0 and finite, got {self.max_delay}"
            )
        if not 1 <= self.target_load <= self.max_load < np.inf:
            raise InvalidArgumentError(
                "load factors must be finite with 1 ≤ target_load ≤ max_load, "
                f"got target_load={self.target_load} and max_load={self.max_load}"
            )
        for name in ("max_delay", "target_load", "max_load"):  # NumPy cannot convert a huge int
            object.__setattr__(self, name, float(min(getattr(self, name), _MAX_FACTOR)))
        weights, leaves = self.share_weights, len(self.tree.leaves)
        if self.allowed_leaves is not None:
            if self.allowed_leaves.shape != (len(self.subscribers), leaves):
                raise InvalidArgumentError(
                    f"allowed_leaves has shape {self.allowed_leaves.shape}: give a row for each of "
                    f"{len(self.subscribers)} subscribers and a column for each of {leaves} leaves"
                )
            without_leaf = np.flatnonzero(~self.allowed_leaves.any(axis=1))
            if len(without_leaf):
                raise InvalidArgumentError(
                    f"allowed_leaves has no leaf for subscriber {without_leaf[0]}: "
                    "allow at least one"
                )
        are_positive = weights is None or ((weights > 0) & np.isfinite(weights)).all()
        if not are_positive or (weights is not None and weights.shape != (leaves,)):
            raise InvalidArgumentError(
                f"share_weights must have one positive, finite number for each of {leaves} leaves"
            )
        if self.event_sample is not None and (
            self.event_sample.ndim != 2 or self.event_sample.shape[1] != d
        ):
            raise InvalidArgumentError(
                f"event_sample has shape {self.event_sample.shape}: give one row for each event, "
                f"with {d} coordinates, because boxes have {d}"
            )
        if self.event_sample is not None and d > MAX_EVENT_DIMENSIONS:
            raise InvalidArgumentError(
                f"event_sample has {d} coordinates, but at most {MAX_EVENT_DIMENSIONS} are "
                "supported: leave it out; bandwidth is then the volume of filters"
            )
        if self.event_sample is not None and not (
            len(self.event_sample) and np.isfinite(self.event_sample).all()
        ):
            raise InvalidArgumentError(
                "event_sample must have at least one event, and all coordinates must be finite"
            )

    def _convert_arrays(self) -> None:
        """Convert the optional arguments to arrays, from anything that NumPy accepts."""
        for name, dtype in (
            ("allowed_leaves", np.bool_),
            ("share_weights", np.float64),
            ("event_sample", np.float64),
        ):
            if getattr(self, name) is not None:
                object.__setattr__(
                    self, name, as_numeric_array(name, getattr(self, name), dtype=dtype)
                )

    @property
    def max_stretch(self) -> float:
        """Largest allowed length of a path, in multiples of the shortest path to the subscriber.

        It has a small margin for rounding errors.
        """
        return (1 + self.max_delay) * (1 + 1e-9)

    @property
    def fair_shares(self) -> Floats:
        """Fair share of each leaf; the shares add up to 1."""
        leaves = len(self.tree.leaves)
        weights = np.ones(leaves) if self.share_weights is None else self.share_weights
        shares: Floats = weights / weights.sum()
        return shares

    @check_arguments
    def compute_capacities(
        self, load_factor: float, subscriber_count: int | None = None
    ) -> NDArray[np.int64]:
        """Return the capacity of each leaf at a load factor.

        Args:
            load_factor: the load in multiples of a leaf's fair share.
            subscriber_count: the number of subscribers that the leaves serve together, for example
                that of a sample; by default the number of all subscribers of the problem.
        """
        subscriber_count = len(self.subscribers) if subscriber_count is None else subscriber_count
        return compute_leaf_capacities(self.fair_shares, load_factor, subscriber_count)

    @property
    def load_factors(self) -> tuple[float, ...]:
        """Load factors that planners try in turn: `target_load`, the mean of both, and `max_load`.

        If both limits are equal, there is only one load factor. (papers: assignment)
        """
        return tuple(
            dict.fromkeys(np.linspace(self.target_load, self.max_load, _LOAD_FACTOR_COUNT).tolist())
        )

    @check_arguments
    def with_max_load(self, max_load: float) -> Problem:
        """Return the same problem with another `max_load`.

        If `target_load` is larger than the new `max_load`, it is reduced to it.
        """
        return replace(self, target_load=min(self.target_load, max_load), max_load=max_load)

    def concat_subscribers(self, other: Problem) -> Problem:
        """Return this problem with the subscribers of another one appended to its own.

        The result has `allowed_leaves` only if both problems have them.
        """
        own, added = self.subscribers, other.subscribers
        subscribers = Subscribers(
            np.concatenate([own.positions, added.positions]),
            np.concatenate([own.lower, added.lower]),
            np.concatenate([own.upper, added.upper]),
        )
        allowed = None
        if self.allowed_leaves is not None and other.allowed_leaves is not None:
            allowed = np.concatenate([self.allowed_leaves, other.allowed_leaves])
        return replace(self, subscribers=subscribers, allowed_leaves=allowed)

    def take(self, rows: NDArray[np.int64]) -> Problem:
        """Return the same problem with the subscribers of these rows only."""
        allowed = None if self.allowed_leaves is None else self.allowed_leaves[rows]
        return replace(self, subscribers=self.subscribers.take(rows), allowed_leaves=allowed)
