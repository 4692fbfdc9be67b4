"""Watches on embeddings: notify me of what is as close as this to my example.

Centres and events are unit vectors, normal round cluster centres that are themselves random unit
vectors; each watch has a radius of its own. The spread inside a cluster is such that two of its
members are about as far apart (0.8) as texts on one topic are in common embedding models.
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
from covey.workload import drawn
from covey.workload.arrow import record_batch, vectors
from covey.workload.drawn import Drawn, Nearby
from covey.workload.rows import BLOCK, Columns, columns, generator

__all__ = ["Watches"]

_CLUSTERS = 2000
_SPREAD = 0.035 * math.sqrt(384)  # length of a member's offset from its cluster's centre
_OWN = (0.8, 1.1)  # each radius is the usual one times a factor from here

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Watches:
    """l2 balls on the vector attribute `embedding` of d floats.

    Matches per event at 200,000 subscriptions: about 5 (d = 384).
    """

    d: int = 384
    radius: float = 0.7265
    seed: int = 0

    def __post_init__(self) -> None:
        if self.d < 1 or not self.radius > 0:
            raise CoveyError(
                f"no watches with d={self.d} and radius={self.radius}: d ≥ 1, radius > 0"
            )

    @property
    def name(self) -> str:
        return "watches"

    @property
    def space(self) -> Space:
        return Space.from_arrow(_schema(), vectors={"embedding": self.d})

    def regions(self, start: int, stop: int) -> Regions:
        return drawn.regions(self.space, self._subscriptions(start, stop))

    def predicates(self, start: int, stop: int) -> list[str]:
        return drawn.predicates(self._subscriptions(start, stop))

    def events(self, start: int, stop: int) -> pa.RecordBatch:
        embeddings = columns(start, stop, self.seed, "watches events", self._draw_events)
        return record_batch(_schema(), embeddings, lambda part: [vectors(part["embedding"])])

    def _subscriptions(self, start: int, stop: int) -> Iterator[list[Drawn]]:
        purpose = "watches subscriptions"
        for part in columns(start, stop, self.seed, purpose, self._draw_subscriptions):
            yield [Nearby("embedding", part["centre"], part["radius"])]

    def _draw_subscriptions(self, random: np.random.Generator) -> Columns:
        radii = self.radius * random.uniform(*_OWN, BLOCK)
        return {"centre": self._members(random), "radius": radii.astype(np.float32)}

    def _draw_events(self, random: np.random.Generator) -> Columns:
        return {"embedding": self._members(random)}

    def _members(self, random: np.random.Generator) -> Matrix:
        offsets = random.standard_normal((BLOCK, self.d), np.float32)
        offsets *= np.float32(_SPREAD / math.sqrt(self.d))
        offsets += _clusters(self.seed, self.d)[random.integers(0, _CLUSTERS, BLOCK)]
        return _unit(offsets)


@lru_cache(maxsize=4)
def _clusters(seed: int, d: int) -> Matrix:
    random = generator(seed, "watches clusters")
    return _unit(random.standard_normal((_CLUSTERS, d), np.float32))


def _unit(matrix: Matrix) -> Matrix:
    """Rows divided by their lengths."""
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    units: Matrix = matrix / lengths[:, None].astype(np.float32)
    return units


def _schema() -> pa.Schema:
    return pa.schema([("embedding", pa.list_(pa.float32()))])
