"""Random directions, and the intervals to which they project balls and boxes.

If set a covers set b, the interval of a on each direction contains the interval of b. So intervals
give candidates, and an exact relation verifies them. A ball (s, r) projects on a direction u to the
interval ⟨u,s⟩ ± r‖u‖. A box projects to the smallest interval that contains the projections of all
its vertices. (papers: projection)

Rounding loses no cover. For boxes it preserves the order of the ends: each end is a sum of products
that are added in one order, and a rounded product or sum never falls when an operand grows. For
balls it may reverse that order, because the products of the centre may grow while the product of
the radius falls. So intervals of outer balls are widened by the usual bound on the error of a sum
of products in float64, which holds for any order of additions. With S = Σ|u_i||s_i| + r‖u‖, the
error of an end is at most γS, where γ = n/(2^53 - n) for n roundings. If ball a covers ball b, the
S of b is not larger than that of a. So if the interval of a is widened by 2γS on either side, it
contains the computed interval of b, which need not be changed. The constant in the code also allows
for the rounding of S and of the widening.

Cost: k × d products per ball or box. Do not project boxes without bounds on some attribute: their
intervals are unbounded on every direction that is not at right angles to that attribute.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.errors import InvalidArgumentError

__all__ = ["Directions", "Ends", "false_cover_probability"]

Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]

_ROUNDING = 2.0**-53  # relative error of one operation in float64
_SMALLEST = 2.0**-1074  # the smallest positive float64: absolute error of an operation
_LARGEST = 1e290  # ends are clipped to it: a sum of up to 1e18 of them does not overflow
_LARGEST_SUM = 1e300  # a larger S may have overflowed: the interval becomes unbounded


def false_cover_probability(k: int) -> float:
    """Return (2/π)^k, the approximate probability of a false cover with k projections.

    A false cover is a pair of balls of which the first does not cover the second, although on each
    direction the interval of the first contains the interval of the second. The value is the
    approximation of *projection* for one pair of balls with the worst radii. It is neither a bound
    for a workload, nor the share of false covers among all candidates.
    """
    return float((2 / math.pi) ** k)


@dataclass(frozen=True, slots=True)
class Directions:
    """k vectors in d dimensions, one per row of `matrix`. They may have any norm except 0.

    >>> axes = Directions(np.eye(2))
    >>> [ends.round(9).tolist() for ends in axes.project_balls([[1.0, 5.0]], [2.0])]
    [[[-1.0, 3.0]], [[3.0, 7.0]]]
    """

    matrix: Floats

    @classmethod
    def orthonormal(cls, k: int, d: int, seed: int | list[int]) -> Directions:
        """Return k random unit vectors; in each block of d vectors, all are orthogonal.

        Different blocks are independent.

        Raises:
            InvalidArgumentError: k or d is below 1.
        """
        random = _make_generator(k, d, seed)
        blocks = [np.linalg.qr(random.standard_normal((d, d)))[0].T for _ in range(-(-k // d))]
        return cls(np.concatenate(blocks)[:k])

    @classmethod
    def random_signs(cls, k: int, d: int, seed: int | list[int]) -> Directions:
        """Return k random vectors whose entries are 1 or -1 with equal probability.

        This is one of the two distributions that Achlioptas proposed; `sparse` is the other.

        Raises:
            InvalidArgumentError: k or d is below 1.
        """
        return cls(_make_generator(k, d, seed).choice([-1.0, 1.0], (k, d)))

    @classmethod
    def sparse(cls, k: int, d: int, seed: int | list[int]) -> Directions:
        """Return k random vectors whose entries are √3, 0 or -√3.

        The probabilities of these entries are 1/6, 2/3 and 1/6. A vector that has only zeros is
        drawn again.

        Raises:
            InvalidArgumentError: k or d is below 1.
        """
        random, matrix = _make_generator(k, d, seed), np.zeros((k, d))
        while len(zero := np.flatnonzero(~matrix.any(axis=1))):
            drawn = random.choice([1.0, 0.0, -1.0], (len(zero), d), p=[1 / 6, 2 / 3, 1 / 6])
            matrix[zero] = math.sqrt(3) * drawn
        return cls(matrix)

    def __len__(self) -> int:
        """Return the number of directions, k."""
        return len(self.matrix)

    @property
    def dimensions(self) -> int:
        """Number of dimensions, d."""
        return int(self.matrix.shape[1])

    @property
    def norms(self) -> Floats:
        """Norm of each direction, rounded up."""
        lengths: Floats = np.linalg.norm(self.matrix, axis=1)
        return lengths * (1 + (2 * self.dimensions + 8) * _ROUNDING)

    def project_balls(self, centres: ArrayLike, radii: ArrayLike) -> Ends:
        """Return the lower and the upper ends of the intervals of n balls on k directions.

        Both are arrays of n rows and k columns. The intervals are not widened for rounding. Use
        them for balls that may be covered, and those of `project_outer_balls` for balls that may
        cover them. Centres must be finite.
        """
        low, high, _ = self._project_with_error(
            np.asarray(centres, np.float64), np.asarray(radii, np.float64)
        )
        return low, high

    def project_outer_balls(
        self, centres: ArrayLike, radii: ArrayLike, *, widenings: int = 1
    ) -> Ends:
        """Return the lower and the upper ends of the intervals of n balls, widened for rounding.

        Both are arrays of n rows and k columns. If ball a covers ball b, the interval of a contains
        the interval that `project_balls` computes for b. With `widenings=2`, it also contains the
        interval that this method computes for b with `widenings=1`. Centres must be finite.
        """
        low, high, sums = self._project_with_error(
            np.asarray(centres, np.float64), np.asarray(radii, np.float64)
        )
        n = self.dimensions
        widening = widenings * ((2 * n + 16) * _ROUNDING * sums + 4 * (n + 2) * _SMALLEST)
        widening[~(sums <= _LARGEST_SUM)] = np.inf
        with np.errstate(invalid="ignore"):
            return _replace_nan(low - widening, -np.inf), _replace_nan(high + widening, np.inf)

    def project_boxes(self, lower: ArrayLike, upper: ArrayLike) -> Ends:
        """Return the lower and the upper ends of the intervals of n boxes on k directions.

        Both are arrays of n rows and k columns. If box a covers box b, the interval of a on each
        direction contains the interval of b, despite rounding.

        Args:
            lower: lower corner of each box; -inf for a dimension without a lower bound.
            upper: upper corner of each box; inf for a dimension without an upper bound. If a
                dimension has no bound on one side, the interval has no bound on one side for every
                direction whose entry for this dimension is not 0.
        """
        lower, upper = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
        k, n = len(self.matrix), len(lower)
        low, high = np.zeros((k, n)), np.zeros((k, n))
        for i in range(self.dimensions):
            first, last = (np.clip(ends[:, i], -_LARGEST, _LARGEST) for ends in (lower, upper))
            first[lower[:, i] == -np.inf], last[upper[:, i] == np.inf] = -np.inf, np.inf
            for j in np.flatnonzero(self.matrix[:, i]):
                u = self.matrix[j, i]
                low[j] += u * (first if u > 0 else last)
                high[j] += u * (last if u > 0 else first)
        return low.T, high.T

    def _project_with_error(self, centres: Floats, radii: Floats) -> tuple[Floats, Floats, Floats]:
        """Return lower ends, upper ends, and the sums S that bound their errors.

        The module docstring defines S. Each array has a row per ball and a column per direction.
        """
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            middles = centres @ self.matrix.T
            reach = radii[:, None] * self.norms
            sums = np.abs(centres) @ np.abs(self.matrix.T) + reach
            return _replace_nan(middles - reach, 0.0), _replace_nan(middles + reach, 0.0), sums


def _replace_nan(ends: Floats, other: float) -> Floats:
    """Replace NaN by `other` in place and return the ends.

    An end is NaN if both of its terms overflowed. In that case, intervals of outer balls are
    unbounded, so the end of the interval of an inner ball may have any value.
    """
    ends[np.isnan(ends)] = other
    return ends


def _make_generator(k: int, d: int, seed: Any) -> np.random.Generator:
    """Return a random generator; raise InvalidArgumentError if k or d is below 1."""
    if k < 1 or d < 1:
        raise InvalidArgumentError(
            "the numbers of directions and of dimensions must be at least 1: "
            f"got {k} directions and {d} dimensions"
        )
    return np.random.default_rng(seed)
