"""Balls in the unit cube with uniform centres, as in *projection* and *can*.

Radii are uniform in (0, r_max], or follow a Pareto law with the shape of the 80-20 rule,
log 5 / log 4, bounded by r_max. The papers use 10,000 and 50,000 subscriptions with r_max 1 and
d = 4 … 20 (*projection*) or r_max 0.5 and d = 4, 8 (*can*); events are uniform. The papers do not
print the smallest Pareto radius. Here it is a hundredth of r_max, so that the largest fifth of the
balls has 62% of the sum of radii, not 80%.
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
from covey.workload import constraints
from covey.workload.arrow_arrays import build_record_batch, to_vector_lists
from covey.workload.block_rng import BLOCK_ROWS, Columns, draw_blocks
from covey.workload.constraints import BallColumn, ConstraintColumn

__all__ = ["CubeBalls"]

_PARETO_SHAPE = math.log(5) / math.log(4)  # 80-20 rule, for radii without a limit
_MIN_RADIUS_SHARE = 0.01  # smallest Pareto radius, as a share of the largest


@dataclass(frozen=True, slots=True)
class CubeBalls:
    """Balls in l2 distance on the vector attribute `position`; events are uniform in the unit cube.

    Args:
        radius_law: distribution of the radii.
        dimensions: number of dimensions (d in the papers).
        max_radius: largest radius (r_max in the papers).
        seed: seed of all random numbers.

    >>> CubeBalls("pareto", dimensions=8).name
    'pareto-balls-8'
    """

    radius_law: Literal["uniform", "pareto"] = "uniform"
    dimensions: int = 4
    max_radius: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.radius_law not in ("uniform", "pareto"):
            raise CoveyError(f"radius_law must be 'uniform' or 'pareto', got {self.radius_law!r}")
        if self.dimensions < 1 or not self.max_radius > 0:
            raise CoveyError(
                "dimensions must be at least 1 and max_radius above 0, "
                f"got dimensions={self.dimensions}, max_radius={self.max_radius}"
            )

    @property
    def name(self) -> str:
        return f"{self.radius_law}-balls-{self.dimensions}"

    @property
    def space(self) -> Space:
        return Space.from_arrow(_make_schema(), vectors={"position": self.dimensions})

    def generate_regions(self, start: int, stop: int) -> Regions:
        return constraints.build_regions(self.space, self._constraint_blocks(start, stop))

    def generate_predicates(self, start: int, stop: int) -> list[str]:
        return constraints.write_predicates(self._constraint_blocks(start, stop))

    def generate_events(self, start: int, stop: int) -> pa.RecordBatch:
        positions = draw_blocks(
            start, stop, self.seed, f"{self.name} events", self._draw_event_block
        )
        return build_record_batch(
            _make_schema(), positions, lambda block: [to_vector_lists(block["position"])]
        )

    def generate_balls(
        self, start: int, stop: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return subscriptions `start` to `stop` (excluded) as centres and radii.

        The centres are a matrix with one row per subscription.
        """
        blocks = list(self._subscription_blocks(start, stop))
        centres, radii = (
            np.concatenate([block[name] for block in blocks]).astype(np.float64)
            for name in ("centre", "radius")
        )
        return centres, radii

    def _constraint_blocks(self, start: int, stop: int) -> Iterator[list[ConstraintColumn]]:
        for block in self._subscription_blocks(start, stop):
            yield [BallColumn("position", block["centre"], block["radius"])]

    def _subscription_blocks(self, start: int, stop: int) -> Iterator[Columns]:
        purpose = f"{self.name} subscriptions"
        return draw_blocks(start, stop, self.seed, purpose, self._draw_subscription_block)

    def _draw_subscription_block(self, random: np.random.Generator) -> Columns:
        centres = random.random((BLOCK_ROWS, self.dimensions), np.float32)
        probabilities = 1 - random.random(BLOCK_ROWS)  # in (0, 1], so that no radius is zero
        radii = probabilities if self.radius_law == "uniform" else _pareto_sizes(probabilities)
        return {"centre": centres, "radius": (self.max_radius * radii).astype(np.float32)}

    def _draw_event_block(self, random: np.random.Generator) -> Columns:
        return {"position": random.random((BLOCK_ROWS, self.dimensions), np.float32)}


def _pareto_sizes(exceedance_probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sizes that a random size exceeds with these probabilities, by a Pareto law.

    The law is truncated: sizes are from `_MIN_RADIUS_SHARE` to 1.
    """
    min_probability = _MIN_RADIUS_SHARE**_PARETO_SHAPE
    sizes: NDArray[np.float64] = _MIN_RADIUS_SHARE * (
        min_probability + exceedance_probabilities * (1 - min_probability)
    ) ** (-1 / _PARETO_SHAPE)
    return sizes


def _make_schema() -> pa.Schema:
    return pa.schema([("position", pa.list_(pa.float32()))])
