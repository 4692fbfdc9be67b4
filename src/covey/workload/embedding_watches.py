"""Watches on embeddings: a watch matches the events within a radius around its centre.

The centres of watches, and events, belong to clusters. Cluster centres are random unit vectors; the
members of a cluster are normally distributed around its centre and then scaled to length 1. Two
members of a cluster are about 0.8 apart, as texts on one topic are in common embedding models. The
radii of watches differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.errors import CoveyError
from covey.geometry import Regions
from covey.space import Space
from covey.workload import constraints
from covey.workload.arrow_arrays import build_record_batch, to_vector_lists
from covey.workload.block_rng import BLOCK_ROWS, Columns, draw_blocks, make_generator
from covey.workload.constraints import BallColumn, ConstraintColumn

__all__ = ["EmbeddingWatches"]

_CLUSTER_COUNT = 2000
_SPREAD = 0.035 * math.sqrt(384)  # length of a member's offset from its cluster's centre
_RADIUS_FACTOR_RANGE = (0.8, 1.1)  # a radius is `base_radius` times a factor in this range

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbeddingWatches:
    """Balls in l2 distance on the vector attribute `embedding`.

    Matches per event at 200,000 subscriptions with 384 dimensions: about 5.

    Args:
        dimensions: number of dimensions.
        base_radius: radii are uniform from 0.8 to 1.1 times this value.
        seed: seed of all random numbers.
    """

    dimensions: int = 384
    base_radius: float = 0.7265
    seed: int = 0

    def __post_init__(self) -> None:
        if self.dimensions < 1 or not self.base_radius > 0:
            raise CoveyError(
                "dimensions must be at least 1 and base_radius above 0, "
                f"got dimensions={self.dimensions}, base_radius={self.base_radius}"
            )

    @property
    def name(self) -> str:
        return "watches"

    @property
    def space(self) -> Space:
        return Space.from_arrow(_make_schema(), vectors={"embedding": self.dimensions})

    def generate_regions(self, start: int, stop: int) -> Regions:
        return constraints.build_regions(self.space, self._constraint_blocks(start, stop))

    def generate_predicates(self, start: int, stop: int) -> list[str]:
        return constraints.write_predicates(self._constraint_blocks(start, stop))

    def generate_events(self, start: int, stop: int) -> pa.RecordBatch:
        embeddings = draw_blocks(start, stop, self.seed, "watches events", self._draw_event_block)
        return build_record_batch(
            _make_schema(), embeddings, lambda block: [to_vector_lists(block["embedding"])]
        )

    def _constraint_blocks(self, start: int, stop: int) -> Iterator[list[ConstraintColumn]]:
        purpose = "watches subscriptions"
        for block in draw_blocks(start, stop, self.seed, purpose, self._draw_subscription_block):
            yield [BallColumn("embedding", block["centre"], block["radius"])]

    def _draw_subscription_block(self, random: np.random.Generator) -> Columns:
        radii = self.base_radius * random.uniform(*_RADIUS_FACTOR_RANGE, BLOCK_ROWS)
        return {"centre": self._draw_cluster_members(random), "radius": radii.astype(np.float32)}

    def _draw_event_block(self, random: np.random.Generator) -> Columns:
        return {"embedding": self._draw_cluster_members(random)}

    def _draw_cluster_members(self, random: np.random.Generator) -> Matrix:
        offsets = random.standard_normal((BLOCK_ROWS, self.dimensions), np.float32)
        offsets *= np.float32(_SPREAD / math.sqrt(self.dimensions))
        offsets += _draw_cluster_centres(self.seed, self.dimensions)[
            random.integers(0, _CLUSTER_COUNT, BLOCK_ROWS)
        ]
        return _normalize_rows(offsets)


@lru_cache(maxsize=4)
def _draw_cluster_centres(seed: int, dimensions: int) -> Matrix:
    random = make_generator(seed, "watches clusters")
    return _normalize_rows(random.standard_normal((_CLUSTER_COUNT, dimensions), np.float32))


def _normalize_rows(matrix: Matrix) -> Matrix:
    """Return a matrix whose rows are divided by their lengths."""
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    units: Matrix = matrix / lengths[:, None].astype(np.float32)
    return units


def _make_schema() -> pa.Schema:
    return pa.schema([("embedding", pa.list_(pa.float32()))])
