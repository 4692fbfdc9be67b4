"""Balls by brute force inside `mapInArrow`: a blocked matrix product, and thresholds.

Events and centres are unit vectors, which this relies on: a distance is at most r where the inner
product is at least 1 - r²/2. All in float32; pairs next to a threshold are left undecided. What is
compared with thresholds is looked at once: 64 products at a time, of which most have no hit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray
from pyspark.sql import DataFrame

__all__ = ["Tile", "keep_balls", "multiplied"]

Tile = tuple[int, int]  # events and balls of a block
Matrix = NDArray[np.float32]
_LOOKED_AT = 64


def keep_balls(balls: DataFrame, folder: Path) -> None:
    """Writes centres and thresholds of `balls` to a folder, ball i with id i."""
    folder.mkdir()
    table = balls.orderBy("id").select("centre", "radius").toArrow().combine_chunks()
    centres = table.column("centre").combine_chunks().flatten().to_numpy()
    radii = table.column("radius").to_numpy().astype(np.float64)
    np.save(folder / "centres.npy", centres.reshape(len(radii), -1))
    np.save(folder / "thresholds.npy", (1 - radii**2 / 2).astype(np.float32))


def multiplied(events: DataFrame, balls: Path, tile: Tile) -> DataFrame:
    """Pairs of `event_id` and `id`; events have an `embedding`."""
    return events.mapInArrow(_operator(str(balls), tile), "event_id long, id long")


def _operator(
    balls: str, tile: Tile
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def emit(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        centres, thresholds = _balls(balls)
        for batch in batches:
            events = batch.column("embedding").flatten().to_numpy().reshape(batch.num_rows, -1)
            asked, stored = _pairs(events, centres, thresholds, tile)
            columns = [batch.column("event_id").take(pa.array(asked)), pa.array(stored)]
            yield pa.RecordBatch.from_arrays(columns, ["event_id", "id"])

    return emit


@lru_cache(maxsize=1)
def _balls(folder: str) -> tuple[Matrix, Matrix]:
    """Centres and thresholds, read once by a worker."""
    return np.load(f"{folder}/centres.npy"), np.load(f"{folder}/thresholds.npy")


def _pairs(
    events: Matrix, centres: Matrix, thresholds: Matrix, tile: Tile
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows, columns = tile
    products = np.empty(rows * columns, np.float32)
    found = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    for start in range(0, len(events), rows):
        some = events[start : start + rows]
        for first in range(0, len(centres), columns):
            balls = centres[first : first + columns]
            block = products[: len(some) * len(balls)].reshape(len(some), len(balls))
            np.matmul(some, balls.T, out=block)
            asked, stored = _hits(block, thresholds[first : first + columns])
            found.append((asked + start, stored + first))
    return np.concatenate([a for a, _ in found]), np.concatenate([s for _, s in found])


@njit(cache=True, nogil=True)
def _hits(products: Matrix, thresholds: Matrix) -> Any:
    """Rows and columns of the products that reach the threshold of their column."""
    asked, stored, count = np.empty(1024, np.int64), np.empty(1024, np.int64), 0
    for i in range(products.shape[0]):
        for start in range(0, products.shape[1], _LOOKED_AT):
            stop = min(start + _LOOKED_AT, products.shape[1])
            hits = 0
            for j in range(start, stop):
                hits += products[i, j] >= thresholds[j]
            if hits == 0:
                continue
            if count + hits > len(asked):
                asked = np.concatenate((asked, np.empty(len(asked) + hits, np.int64)))
                stored = np.concatenate((stored, np.empty(len(stored) + hits, np.int64)))
            for j in range(start, stop):
                if products[i, j] >= thresholds[j]:
                    asked[count], stored[count] = i, j
                    count += 1
    return asked[:count], stored[:count]
