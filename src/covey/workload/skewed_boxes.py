"""Skewed boxes: most subscriptions and events are near a few hot spots.

The centres of boxes, and events, are normally distributed around hot spots in four dimensions. The
frequencies of hot spots follow Zipf's law. The sizes of boxes follow a Pareto law (80/20), so that
a few boxes are very wide. This is hard for indexes that use grids or cells of equal size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.space import Space
from covey.workload import constraints
from covey.workload.arrow_arrays import build_record_batch
from covey.workload.block_rng import BLOCK_ROWS, Columns, draw_blocks, make_generator
from covey.workload.constraints import ConstraintColumn
from covey.workload.zipf import draw_zipf_ranks

__all__ = ["SkewedBoxes"]

_ATTRIBUTE_NAMES = ("x1", "x2", "x3", "x4")
_HOT_SPOT_COUNT = 100
_SPREAD = 0.05  # standard deviation of points around their hot spot
_PARETO_SHAPE = 1.16  # a fifth of the boxes has four fifths of the width
_MAX_WIDTH = 4.0  # wider than the range of points, which is from -0.3 to 1.3


@dataclass(frozen=True, slots=True)
class SkewedBoxes:
    """Boxes around a few hot spots. Matches per event at 1M subscriptions: 215 to 245.

    Args:
        scale: smallest size. The size of each box is drawn from a Pareto distribution; each of its
            sides is 0.5 to 1.5 times the size, but at most 4.
        seed: seed of all random numbers.
    """

    scale: float = 0.0006
    seed: int = 0

    @property
    def name(self) -> str:
        return "skewed"

    @property
    def space(self) -> Space:
        return Space.from_arrow(_make_schema())

    def generate_regions(self, start: int, stop: int) -> Regions:
        return constraints.build_regions(self.space, self._constraint_blocks(start, stop))

    def generate_predicates(self, start: int, stop: int) -> list[str]:
        return constraints.write_predicates(self._constraint_blocks(start, stop))

    def generate_events(self, start: int, stop: int) -> pa.RecordBatch:
        points = draw_blocks(start, stop, self.seed, "skewed events", self._draw_event_block)
        return build_record_batch(
            _make_schema(), points, lambda block: list(map(pa.array, block["x"].T))
        )

    def _constraint_blocks(self, start: int, stop: int) -> Iterator[list[ConstraintColumn]]:
        purpose = "skewed subscriptions"
        for block in draw_blocks(start, stop, self.seed, purpose, self._draw_subscription_block):
            lower, upper = block["lower"], block["upper"]
            yield [
                constraints.make_double_intervals(name, lower[:, j], upper[:, j])
                for j, name in enumerate(_ATTRIBUTE_NAMES)
            ]

    def _draw_subscription_block(self, random: np.random.Generator) -> Columns:
        centres = self._draw_points(random)
        sizes = self.scale * (1 + random.pareto(_PARETO_SHAPE, (BLOCK_ROWS, 1)))
        shapes = random.uniform(0.5, 1.5, centres.shape)
        half_widths = np.minimum(sizes * shapes, _MAX_WIDTH) / 2
        return {"lower": centres - half_widths, "upper": centres + half_widths}

    def _draw_event_block(self, random: np.random.Generator) -> Columns:
        return {"x": self._draw_points(random)}

    def _draw_points(self, random: np.random.Generator) -> NDArray[np.float64]:
        hot_spots = make_generator(self.seed, "skewed hot spots").random(
            (_HOT_SPOT_COUNT, len(_ATTRIBUTE_NAMES))
        )
        points = hot_spots[draw_zipf_ranks(random, _HOT_SPOT_COUNT, BLOCK_ROWS)]
        return points + random.normal(0, _SPREAD, points.shape)


def _make_schema() -> pa.Schema:
    return pa.schema([(name, pa.float64()) for name in _ATTRIBUTE_NAMES])
