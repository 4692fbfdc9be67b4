"""Balls by brute force inside `mapInArrow`: a blocked matrix product, and thresholds.

Events and centres must be unit vectors: then a distance is at most r if and only if the inner
product is at least 1 - r²/2. All numbers are float32, and pairs close to a threshold are not
verified. Products are compared with thresholds in blocks of 64, most of which have no hit; only
blocks with a hit are read again.
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
    """Write the centres and thresholds of `balls` to a folder; ball i has id i."""
    folder.mkdir()
    table = balls.orderBy("id").select("centre", "radius").toArrow().combine_chunks()
    centres = table.column("centre").combine_chunks().flatten().to_numpy()
    radii = table.column("radius").to_numpy().astype(np.float64)
    np.save(folder / "centres.npy", centres.reshape(len(radii), -1))
    np.save(folder / "thresholds.npy", (1 - radii**2 / 2).astype(np.float32))


def multiplied(events: DataFrame, balls: Path, tile: Tile) -> DataFrame:
    """Return pairs of `event_id` and `id` for events with a column `embedding`.

    `balls` is a folder that `keep_balls` has written.
    """
    return events.mapInArrow(_operator(str(balls), tile), "event_id long, id long")


def _operator(
    balls: str, tile: Tile
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def emit(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        centres, thresholds = _balls(balls)
        for batch in batches:
            events = batch.column("embedding").flatten().to_numpy().reshape(batch.num_rows, -1)
            event_rows, ball_rows = _pairs(events, centres, thresholds, tile)
            columns = [batch.column("event_id").take(pa.array(event_rows)), pa.array(ball_rows)]
            yield pa.RecordBatch.from_arrays(columns, ["event_id", "id"])

    return emit


@lru_cache(maxsize=1)
def _balls(folder: str) -> tuple[Matrix, Matrix]:
    """Return centres and thresholds, which each worker reads once."""
    return np.load(f"{folder}/centres.npy"), np.load(f"{folder}/thresholds.npy")


def _pairs(
    events: Matrix, centres: Matrix, thresholds: Matrix, tile: Tile
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows, columns = tile
    products = np.empty(rows * columns, np.float32)
    pairs = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    for start in range(0, len(events), rows):
        event_block = events[start : start + rows]
        for first in range(0, len(centres), columns):
            balls = centres[first : first + columns]
            size = len(event_block) * len(balls)
            block = products[:size].reshape(len(event_block), len(balls))
            np.matmul(event_block, balls.T, out=block)
            event_rows, ball_rows = _hits(block, thresholds[first : first + columns])
            pairs.append((event_rows + start, ball_rows + first))
    return np.concatenate([e for e, _ in pairs]), np.concatenate([b for _, b in pairs])


@njit(cache=True, nogil=True)
def _hits(products: Matrix, thresholds: Matrix) -> Any:
    """Return the rows and columns of the products that reach the threshold of their column."""
    rows, columns, count = np.empty(1024, np.int64), np.empty(1024, np.int64), 0
    for i in range(products.shape[0]):
        for start in range(0, products.shape[1], _LOOKED_AT):
            stop = min(start + _LOOKED_AT, products.shape[1])
            hits = 0
            for j in range(start, stop):
                hits += products[i, j] >= thresholds[j]
            if hits == 0:
                continue
            if count + hits > len(rows):
                rows = np.concatenate((rows, np.empty(len(rows) + hits, np.int64)))
                columns = np.concatenate((columns, np.empty(len(columns) + hits, np.int64)))
            for j in range(start, stop):
                if products[i, j] >= thresholds[j]:
                    rows[count], columns[count] = i, j
                    count += 1
    return rows[:count], columns[:count]
