"""Random directions, and the intervals that balls and boxes project to on them.

What covers projects to an interval that covers: so intervals propose, and the exact relation
decides. A ball (s, r) projects on u to ⟨u,s⟩ ± r‖u‖, and a box to the smallest interval that has
the projections of all its vertices. (papers: projection)

No true cover is missed by rounding. Of boxes the order of ends survives it by itself: each end is a
sum of products, added in one order, and a rounded product or sum never falls when an operand grows.
Of balls it does not, since the centre gives what the radius takes. There the classic bound on a sum
of products holds, in float64 and in whatever order it is added: with S = Σ|u_i||s_i| + r‖u‖ an end
is wrong by at most γS, γ = n/(2^53 - n) for n roundings. A ball within another has no larger S. So
an outer interval that is widened by 2γS on either side contains the computed interval of whatever
the ball covers, and inner ones need not be narrowed; the constant here also has room for the
rounding of S and of the widening.

Cost: k × d products per ball or box. Wrong choice for boxes that are free in an attribute: they are
unbounded in every direction that is not at right angles to it.
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

_ROUNDING = 2.0**-53
_SMALLEST = 2.0**-1074
_LARGEST = 1e290  # sums of so many coordinates as fit in memory do not overflow
_LARGEST_SUM = 1e300


def false_cover_probability(k: int) -> float:
    """(2/π)^k: about the chance that k projections cover although the balls do not.

    It is the paper's approximation for one pair with the worst radii, not a bound on what a
    workload shows. It is not the share of false ones among the covers that are found.
    """
    return float((2 / math.pi) ** k)


@dataclass(frozen=True, slots=True)
class Directions:
    """k vectors in d dimensions, one a row of `matrix`; none is zero, and they may have any length.

    >>> axes = Directions(np.eye(2))
    >>> [ends.round(9).tolist() for ends in axes.project_balls([[1.0, 5.0]], [2.0])]
    [[[-1.0, 3.0]], [[3.0, 7.0]]]
    """

    matrix: Floats

    @classmethod
    def orthonormal(cls, k: int, d: int, seed: int | list[int]) -> Directions:
        """Gaussian vectors made orthonormal; beyond d of them, in independent blocks of d."""
        random = _make_generator(k, d, seed)
        blocks = [np.linalg.qr(random.standard_normal((d, d)))[0].T for _ in range(-(-k // d))]
        return cls(np.concatenate(blocks)[:k])

    @classmethod
    def random_signs(cls, k: int, d: int, seed: int | list[int]) -> Directions:
        """Entries 1 and -1, equally likely (Achlioptas)."""
        return cls(_make_generator(k, d, seed).choice([-1.0, 1.0], (k, d)))

    @classmethod
    def sparse(cls, k: int, d: int, seed: int | list[int]) -> Directions:
        """Entries √3 · (1, 0, -1) with chances 1/6, 2/3, 1/6; vectors of zeros are drawn again."""
        random, matrix = _make_generator(k, d, seed), np.zeros((k, d))
        while len(zero := np.flatnonzero(~matrix.any(axis=1))):
            drawn = random.choice([1.0, 0.0, -1.0], (len(zero), d), p=[1 / 6, 2 / 3, 1 / 6])
            matrix[zero] = math.sqrt(3) * drawn
        return cls(matrix)

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def dimensions(self) -> int:
        """d."""
        return int(self.matrix.shape[1])

    @property
    def norms(self) -> Floats:
        """‖u‖ of each, rounded up."""
        lengths: Floats = np.linalg.norm(self.matrix, axis=1)
        return lengths * (1 + (2 * self.dimensions + 8) * _ROUNDING)

    def project_balls(self, centres: ArrayLike, radii: ArrayLike) -> Ends:
        """The lower and upper ends of balls as computed: n rows, k columns.

        Of balls that others may cover. Centres are finite.
        """
        low, high, _ = self._project_with_error(
            np.asarray(centres, np.float64), np.asarray(radii, np.float64)
        )
        return low, high

    def project_outer_balls(
        self, centres: ArrayLike, radii: ArrayLike, *, widenings: int = 1
    ) -> Ends:
        """The ends of balls, widened to contain `project_inner_balls` of all that they cover.

        With `widenings` 2 they contain even what is widened once. Centres are finite.
        """
        low, high, sums = self._project_with_error(
            np.asarray(centres, np.float64), np.asarray(radii, np.float64)
        )
        n = self.dimensions
        wider = widenings * ((2 * n + 16) * _ROUNDING * sums + 4 * (n + 2) * _SMALLEST)
        wider[~(sums <= _LARGEST_SUM)] = np.inf
        with np.errstate(invalid="ignore"):
            return _replace_nan(low - wider, -np.inf), _replace_nan(high + wider, np.inf)

    def project_boxes(self, lower: ArrayLike, upper: ArrayLike) -> Ends:
        """The ends of boxes with these corners: n rows, k columns.

        An unbounded side is -inf or inf, and makes its ends unbounded in all directions with an
        entry there. A box that is inside another has its ends inside, to the last bit.
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
        """Both ends, and the sums that bound their error."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            middles = centres @ self.matrix.T
            reach = radii[:, None] * self.norms
            sums = np.abs(centres) @ np.abs(self.matrix.T) + reach
            return _replace_nan(middles - reach, 0.0), _replace_nan(middles + reach, 0.0), sums


def _replace_nan(ends: Floats, other: float) -> Floats:
    """Ends, but `other` where they overflowed both ways.

    Outer ones are unbounded then, so that an inner end may be anything.
    """
    ends[np.isnan(ends)] = other
    return ends


def _make_generator(k: int, d: int, seed: Any) -> np.random.Generator:
    if k < 1 or d < 1:
        raise InvalidArgumentError(f"no {k} directions in {d} dimensions: both are at least 1")
    return np.random.default_rng(seed)
