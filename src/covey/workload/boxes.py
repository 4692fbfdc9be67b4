"""Uniform boxes on doubles, and the Zipf boxes of *mics* on a grid of cells.

The centres of uniform boxes, and the events, are uniform in the unit cube. Each side of a uniform
box has a random length below `max_width` and includes both its ends. In each dimension, a Zipf box
begins at a cell that is drawn by Zipf's law, and is `cells_per_side` cells wide.
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
from covey.workload import constraints
from covey.workload.arrow_arrays import build_record_batch
from covey.workload.block_rng import BLOCK_ROWS, Columns, draw_blocks
from covey.workload.constraints import ConstraintColumn, IntervalColumn
from covey.workload.zipf import draw_zipf_ranks

__all__ = ["UniformBoxes", "ZipfBoxes"]


@dataclass(frozen=True, slots=True)
class UniformBoxes:
    """Boxes with centres in the unit cube, on double attributes; boxes may extend beyond the cube.

    Matches per event at 1M subscriptions: 1.0 with 2 dimensions and a `max_width` of 0.002; 5.9
    with 4 dimensions and a `max_width` of 0.1; 0.17 with 8 dimensions and a `max_width` of 0.3.

    Args:
        dimensions: number of attributes.
        max_width: the length of a side is uniform in [0, max_width).
        seed: seed of all random numbers.
    """

    dimensions: int = 4
    max_width: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.dimensions < 1 or not self.max_width >= 0:
            raise CoveyError(
                "dimensions must be at least 1 and max_width at least 0, "
                f"got dimensions={self.dimensions}, max_width={self.max_width}"
            )

    @property
    def name(self) -> str:
        return f"uniform-boxes-{self.dimensions}"

    @property
    def space(self) -> Space:
        return Space.from_arrow(self._schema)

    def generate_regions(self, start: int, stop: int) -> Regions:
        return constraints.build_regions(self.space, self._constraint_blocks(start, stop))

    def generate_predicates(self, start: int, stop: int) -> list[str]:
        return constraints.write_predicates(self._constraint_blocks(start, stop))

    def generate_events(self, start: int, stop: int) -> pa.RecordBatch:
        points = draw_blocks(start, stop, self.seed, f"{self.name} events", self._draw_event_block)
        return build_record_batch(
            self._schema, points, lambda block: list(map(pa.array, block["x"].T))
        )

    @property
    def _schema(self) -> pa.Schema:
        return pa.schema([(name, pa.float64()) for name in _attribute_names(self.dimensions)])

    def _constraint_blocks(self, start: int, stop: int) -> Iterator[list[ConstraintColumn]]:
        purpose = f"{self.name} subscriptions"
        for block in draw_blocks(start, stop, self.seed, purpose, self._draw_subscription_block):
            lower, upper = block["lower"], block["upper"]
            yield [
                constraints.make_double_intervals(name, lower[:, j], upper[:, j])
                for j, name in enumerate(_attribute_names(self.dimensions))
            ]

    def _draw_subscription_block(self, random: np.random.Generator) -> Columns:
        centres = random.random((BLOCK_ROWS, self.dimensions))
        half_widths = random.random((BLOCK_ROWS, self.dimensions)) * (self.max_width / 2)
        return {"lower": centres - half_widths, "upper": centres + half_widths}

    def _draw_event_block(self, random: np.random.Generator) -> Columns:
        return {"x": random.random((BLOCK_ROWS, self.dimensions))}


@dataclass(frozen=True, slots=True)
class ZipfBoxes:
    """Boxes on a grid of cells: in each dimension, the first cell of a box follows Zipf's law.

    Cell 0 is the most frequent. *mics* uses 256 cells per dimension, boxes that are 4 cells wide,
    and 2, 3 or 4 dimensions (7 in Tables 2 and 3). The paper does not state the exponent. With
    exponent 0, all cells are equally likely. In the paper, events are uniform for matching, and
    follow Zipf's law in Table 2.

    Args:
        dimensions: number of attributes.
        cells_per_side: width of a box in each dimension, in cells.
        cells_per_dimension: width of the grid in each dimension, in cells.
        subscription_exponent: exponent of Zipf's law for the first cells of boxes.
        event_exponent: exponent of Zipf's law for the cells of events.
        seed: seed of all random numbers.
    """

    dimensions: int = 2
    cells_per_side: int = 4
    cells_per_dimension: int = 256
    subscription_exponent: float = 1.0
    event_exponent: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.dimensions < 1 or not 1 <= self.cells_per_side <= self.cells_per_dimension:
            raise CoveyError(
                "dimensions must be at least 1, and cells_per_side from 1 to cells_per_dimension, "
                f"got dimensions={self.dimensions}, cells_per_side={self.cells_per_side}, "
                f"cells_per_dimension={self.cells_per_dimension}"
            )

    @property
    def name(self) -> str:
        return f"zipf-boxes-{self.dimensions}"

    @property
    def space(self) -> Space:
        return Space.from_arrow(self._schema)

    def generate_regions(self, start: int, stop: int) -> Regions:
        return constraints.build_regions(self.space, self._constraint_blocks(start, stop))

    def generate_predicates(self, start: int, stop: int) -> list[str]:
        return constraints.write_predicates(self._constraint_blocks(start, stop))

    def generate_events(self, start: int, stop: int) -> pa.RecordBatch:
        cells = draw_blocks(start, stop, self.seed, f"{self.name} events", self._draw_event_block)
        return build_record_batch(
            self._schema, cells, lambda block: [pa.array(x, pa.int32()) for x in block["cell"].T]
        )

    @property
    def _schema(self) -> pa.Schema:
        return pa.schema([(name, pa.int32()) for name in _attribute_names(self.dimensions)])

    def _constraint_blocks(self, start: int, stop: int) -> Iterator[list[ConstraintColumn]]:
        purpose = f"{self.name} subscriptions"
        for block in draw_blocks(start, stop, self.seed, purpose, self._draw_subscription_block):
            first = block["first"]
            yield [
                IntervalColumn(name, INT, first[:, j], first[:, j] + self.cells_per_side - 1)
                for j, name in enumerate(_attribute_names(self.dimensions))
            ]

    def _draw_subscription_block(self, random: np.random.Generator) -> Columns:
        first_cell_count = self.cells_per_dimension - self.cells_per_side + 1
        ranks = draw_zipf_ranks(
            random,
            first_cell_count,
            BLOCK_ROWS * self.dimensions,
            exponent=self.subscription_exponent,
        )
        return {"first": ranks.reshape(BLOCK_ROWS, self.dimensions)}

    def _draw_event_block(self, random: np.random.Generator) -> Columns:
        ranks = draw_zipf_ranks(
            random,
            self.cells_per_dimension,
            BLOCK_ROWS * self.dimensions,
            exponent=self.event_exponent,
        )
        return {"cell": ranks.reshape(BLOCK_ROWS, self.dimensions)}


def _attribute_names(dimensions: int) -> list[str]:
    return [f"x{j}" for j in range(1, dimensions + 1)]
