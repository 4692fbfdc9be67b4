"""Operators with the output of a transform but without matching: the minimal cost of `mapInArrow`.

They read the same columns in batches of the same size, and have the same output schema. Their ids
are those that matched the first events; these lists were computed before, and are used again and
again. An output with arrays is a slice of one Arrow array; an output with pairs consists of slices
of the ids and of prepared row numbers. So a batch costs only its transfer by Arrow and Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
from pyspark.sql import DataFrame

__all__ = ["bare", "keep_pattern"]

Operator = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def keep_pattern(lists: DataFrame, path: Path) -> None:
    """Write the output of a transform with arrays; operators take their lists from this file."""
    table = lists.orderBy("event_id").select("matches").toArrow()
    feather.write_feather(table.combine_chunks(), str(path), compression="uncompressed")


def bare(events: DataFrame, like: DataFrame, pattern: Path) -> DataFrame:
    """Return a frame with the schema of `like` and about as many matches, without matching.

    Args:
        events: events with the columns that a transform reads.
        like: the output of a transform, as arrays or as pairs.
        pattern: file with lists, written by `keep_pattern`.
    """
    emit = _arrays if "matches" in like.columns else _pairs
    return events.mapInArrow(emit(str(pattern), like.columns), like.schema)


def _arrays(pattern: str, names: list[str]) -> Operator:
    def emit(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch, start in _placed(batches, len(_lists(pattern))):
            lists = _lists(pattern).slice(start, batch.num_rows)
            yield pa.RecordBatch.from_arrays([batch.column("event_id"), lists], names)

    return emit


def _pairs(pattern: str, names: list[str]) -> Operator:
    def emit(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch, start in _placed(batches, len(_lists(pattern))):
            rows, ids = _flat(pattern, start, batch.num_rows)
            yield pa.RecordBatch.from_arrays([batch.column("event_id").take(rows), ids], names)

    return emit


def _placed(batches: Iterator[pa.RecordBatch], length: int) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield each batch with its start in the pattern, which is repeated from its start."""
    start = 0
    for batch in batches:
        if start + batch.num_rows > length:
            start = 0
        yield batch, start
        start += batch.num_rows


@lru_cache(maxsize=4)
def _lists(pattern: str) -> pa.ListArray:
    return feather.read_table(pattern, memory_map=False).column("matches").chunk(0)


@lru_cache(maxsize=64)
def _flat(pattern: str, start: int, count: int) -> tuple[pa.Array, pa.Array]:
    """Return for `count` lists from `start` the list of each element, and all elements."""
    lists = _lists(pattern).slice(start, count)
    lengths = np.diff(lists.offsets.to_numpy())
    return pa.array(np.repeat(np.arange(count, dtype=np.int32), lengths)), lists.flatten()
