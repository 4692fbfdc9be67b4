"""Balls in the unit cube: uniform centres, radii by one of two laws. (papers: projection, can)

Radii are uniform in (0, r_max), or Pareto with the shape of the 80-20 rule, log 5 / log 4, bounded
by r_max. The papers draw 10,000 and 50,000 subscriptions with r_max 1 and d = 4 … 20 (projection)
or r_max 0.5 and d = 4, 8 (can); events are uniform. They do not print the smallest Pareto radius:
here a hundredth of r_max, so that the largest fifth has 62% of all radius, not 80%.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.errors import CoveyError
from covey.geometry import Regions
from covey.space import Space
from covey.workload import drawn
from covey.workload.arrow import record_batch, vectors
from covey.workload.drawn import Drawn, Nearby
from covey.workload.rows import BLOCK, Columns, columns

__all__ = ["CubeBalls"]

_SHAPE = math.log(5) / math.log(4)  # a fifth of all holds four fifths
_SMALLEST = 0.01


@dataclass(frozen=True, slots=True)
class CubeBalls:
    """Balls on the vector attribute `position` of d floats.

    >>> CubeBalls("pareto", d=8).name
    'pareto-balls-8'
    """

    law: Literal["uniform", "pareto"] = "uniform"
    d: int = 4
    r_max: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.law not in ("uniform", "pareto"):
            raise CoveyError(f"no law of radii {self.law!r}: write 'uniform' or 'pareto'")
        if self.d < 1 or not self.r_max > 0:
            raise CoveyError(f"no balls with d={self.d} and r_max={self.r_max}: d ≥ 1, r_max > 0")

    @property
    def name(self) -> str:
        return f"{self.law}-balls-{self.d}"

    @property
    def space(self) -> Space:
        return Space.from_arrow(_schema(), vectors={"position": self.d})

    def regions(self, start: int, stop: int) -> Regions:
        return drawn.regions(self.space, self._subscriptions(start, stop))

    def predicates(self, start: int, stop: int) -> list[str]:
        return drawn.predicates(self._subscriptions(start, stop))

    def events(self, start: int, stop: int) -> pa.RecordBatch:
        positions = columns(start, stop, self.seed, f"{self.name} events", self._draw_events)
        return record_batch(_schema(), positions, lambda part: [vectors(part["position"])])

    def balls(self, start: int, stop: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same subscriptions as centres and radii."""
        parts = list(self._drawn(start, stop))
        centres, radii = (
            np.concatenate([part[name] for part in parts]).astype(np.float64)
            for name in ("centre", "radius")
        )
        return centres, radii

    def _subscriptions(self, start: int, stop: int) -> Iterator[list[Drawn]]:
        for part in self._drawn(start, stop):
            yield [Nearby("position", part["centre"], part["radius"])]

    def _drawn(self, start: int, stop: int) -> Iterator[Columns]:
        purpose = f"{self.name} subscriptions"
        return columns(start, stop, self.seed, purpose, self._draw_subscriptions)

    def _draw_subscriptions(self, random: np.random.Generator) -> Columns:
        centres = random.random((BLOCK, self.d), np.float32)
        chances = 1 - random.random(BLOCK)  # in (0, 1]: no radius is zero
        radii = chances if self.law == "uniform" else _bounded_pareto(chances)
        return {"centre": centres, "radius": (self.r_max * radii).astype(np.float32)}

    def _draw_events(self, random: np.random.Generator) -> Columns:
        return {"position": random.random((BLOCK, self.d), np.float32)}


def _bounded_pareto(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sizes between `_SMALLEST` and 1: the law's inverse, of chances to be larger."""
    least = _SMALLEST**_SHAPE
    sizes: NDArray[np.float64] = _SMALLEST * (least + chances * (1 - least)) ** (-1 / _SHAPE)
    return sizes


def _schema() -> pa.Schema:
    return pa.schema([("position", pa.list_(pa.float32()))])
