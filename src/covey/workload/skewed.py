"""Skewed boxes: most subscriptions and events crowd round a few hot spots.

Centres and events are normal round Zipf hot spots in four dimensions; sizes follow a Pareto law
(80/20), so that few boxes are very wide. Hard for grids and for equal cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.space import Space
from covey.workload import drawn
from covey.workload.arrow import record_batch
from covey.workload.drawn import Drawn
from covey.workload.rows import BLOCK, Columns, columns, generator
from covey.workload.zipf import zipf

__all__ = ["Skewed"]

_ATTRIBUTES = ("x1", "x2", "x3", "x4")
_HOT_SPOTS = 100
_SPREAD = 0.05  # of points round their hot spot
_SHAPE = 1.16  # of the Pareto law: a fifth of the boxes has four fifths of the width
_WIDEST = 4.0  # beyond the space, whose points lie within -0.3 and 1.3


@dataclass(frozen=True, slots=True)
class Skewed:
    """Boxes of side `scale` and more. Matches per event at 1M subscriptions: 215 to 245."""

    scale: float = 0.0006
    seed: int = 0

    @property
    def name(self) -> str:
        return "skewed"

    @property
    def space(self) -> Space:
        return Space.from_arrow(_schema())

    def regions(self, start: int, stop: int) -> Regions:
        return drawn.regions(self.space, self._subscriptions(start, stop))

    def predicates(self, start: int, stop: int) -> list[str]:
        return drawn.predicates(self._subscriptions(start, stop))

    def events(self, start: int, stop: int) -> pa.RecordBatch:
        points = columns(start, stop, self.seed, "skewed events", self._draw_events)
        return record_batch(_schema(), points, lambda part: list(map(pa.array, part["x"].T)))

    def _subscriptions(self, start: int, stop: int) -> Iterator[list[Drawn]]:
        purpose = "skewed subscriptions"
        for part in columns(start, stop, self.seed, purpose, self._draw_subscriptions):
            lower, upper = part["lower"], part["upper"]
            yield [
                drawn.doubles(name, lower[:, j], upper[:, j]) for j, name in enumerate(_ATTRIBUTES)
            ]

    def _draw_subscriptions(self, random: np.random.Generator) -> Columns:
        centres = self._points(random)
        sizes = self.scale * (1 + random.pareto(_SHAPE, (BLOCK, 1)))
        shapes = random.uniform(0.5, 1.5, centres.shape)
        halves = np.minimum(sizes * shapes, _WIDEST) / 2
        return {"lower": centres - halves, "upper": centres + halves}

    def _draw_events(self, random: np.random.Generator) -> Columns:
        return {"x": self._points(random)}

    def _points(self, random: np.random.Generator) -> NDArray[np.float64]:
        hot_spots = generator(self.seed, "skewed hot spots").random((_HOT_SPOTS, len(_ATTRIBUTES)))
        points = hot_spots[zipf(random, _HOT_SPOTS, BLOCK)]
        return points + random.normal(0, _SPREAD, points.shape)


def _schema() -> pa.Schema:
    return pa.schema([(name, pa.float64()) for name in _ATTRIBUTES])
