"""Boxes: uniform ones on doubles, and the Zipf ones of the paper on a grid of cells.

Uniform boxes have closed sides of up to `width` round a uniform centre; events are uniform. Zipf
boxes start at a Zipf cell of every dimension and are `size` cells wide. (papers: mics)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from covey.errors import CoveyError
from covey.geometry import Regions
from covey.space import Space
from covey.space.types import INT
from covey.workload import drawn
from covey.workload.arrow import record_batch
from covey.workload.drawn import Drawn, Intervals
from covey.workload.rows import BLOCK, Columns, columns
from covey.workload.zipf import zipf

__all__ = ["UniformBoxes", "ZipfBoxes"]


@dataclass(frozen=True, slots=True)
class UniformBoxes:
    """Boxes in the unit cube of d doubles; sides are uniform in [0, width), cut by nothing.

    Matches per event at 1M subscriptions: 1.0 (d=2, width 0.002), 5.9 (4, 0.1), 0.17 (8, 0.3).
    """

    d: int = 4
    width: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.d < 1 or not self.width >= 0:
            raise CoveyError(f"no boxes with d={self.d} and width={self.width}: d ≥ 1, width ≥ 0")

    @property
    def name(self) -> str:
        return f"uniform-boxes-{self.d}"

    @property
    def space(self) -> Space:
        return Space.from_arrow(self._schema)

    def regions(self, start: int, stop: int) -> Regions:
        return drawn.regions(self.space, self._subscriptions(start, stop))

    def predicates(self, start: int, stop: int) -> list[str]:
        return drawn.predicates(self._subscriptions(start, stop))

    def events(self, start: int, stop: int) -> pa.RecordBatch:
        points = columns(start, stop, self.seed, f"{self.name} events", self._draw_events)
        return record_batch(self._schema, points, lambda part: list(map(pa.array, part["x"].T)))

    @property
    def _schema(self) -> pa.Schema:
        return pa.schema([(name, pa.float64()) for name in _names(self.d)])

    def _subscriptions(self, start: int, stop: int) -> Iterator[list[Drawn]]:
        purpose = f"{self.name} subscriptions"
        for part in columns(start, stop, self.seed, purpose, self._draw_subscriptions):
            lower, upper = part["lower"], part["upper"]
            yield [
                drawn.doubles(name, lower[:, j], upper[:, j])
                for j, name in enumerate(_names(self.d))
            ]

    def _draw_subscriptions(self, random: np.random.Generator) -> Columns:
        centres = random.random((BLOCK, self.d))
        halves = random.random((BLOCK, self.d)) * (self.width / 2)
        return {"lower": centres - halves, "upper": centres + halves}

    def _draw_events(self, random: np.random.Generator) -> Columns:
        return {"x": random.random((BLOCK, self.d))}


@dataclass(frozen=True, slots=True)
class ZipfBoxes:
    """Boxes of `size` cells a side in a grid of `cells` a dimension, cell 0 the most frequent.

    The paper's defaults: 256 cells, size 4, d of 2, 3 or 4 (7 for its Tables 2 and 3). It gives no
    exponent. Exponent 0 is its uniform law; its events are uniform for matching, Zipf in Table 2.
    """

    d: int = 2
    size: int = 4
    cells: int = 256
    exponent: float = 1.0
    event_exponent: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.d < 1 or not 1 <= self.size <= self.cells:
            raise CoveyError(
                f"no boxes with d={self.d}, size={self.size} and cells={self.cells}: "
                "d ≥ 1, 1 ≤ size ≤ cells"
            )

    @property
    def name(self) -> str:
        return f"zipf-boxes-{self.d}"

    @property
    def space(self) -> Space:
        return Space.from_arrow(self._schema)

    def regions(self, start: int, stop: int) -> Regions:
        return drawn.regions(self.space, self._subscriptions(start, stop))

    def predicates(self, start: int, stop: int) -> list[str]:
        return drawn.predicates(self._subscriptions(start, stop))

    def events(self, start: int, stop: int) -> pa.RecordBatch:
        cells = columns(start, stop, self.seed, f"{self.name} events", self._draw_events)
        return record_batch(
            self._schema, cells, lambda part: [pa.array(x, pa.int32()) for x in part["cell"].T]
        )

    @property
    def _schema(self) -> pa.Schema:
        return pa.schema([(name, pa.int32()) for name in _names(self.d)])

    def _subscriptions(self, start: int, stop: int) -> Iterator[list[Drawn]]:
        purpose = f"{self.name} subscriptions"
        for part in columns(start, stop, self.seed, purpose, self._draw_subscriptions):
            first = part["first"]
            yield [
                Intervals(name, INT, first[:, j], first[:, j] + self.size - 1)
                for j, name in enumerate(_names(self.d))
            ]

    def _draw_subscriptions(self, random: np.random.Generator) -> Columns:
        firsts = self.cells - self.size + 1
        ranks = zipf(random, firsts, BLOCK * self.d, self.exponent)
        return {"first": ranks.reshape(BLOCK, self.d)}

    def _draw_events(self, random: np.random.Generator) -> Columns:
        ranks = zipf(random, self.cells, BLOCK * self.d, self.event_exponent)
        return {"cell": ranks.reshape(BLOCK, self.d)}


def _names(d: int) -> list[str]:
    return [f"x{j}" for j in range(1, d + 1)]
