"""The operator of the bare pipeline: the same amount of output as covey's, without matching.

The text of a notification is built once per event, and keys are slices of a prepared array, so the
cost of Python is small compared with that of Arrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.on_kafka import boxes

__all__ = ["SCHEMA", "emit"]

SCHEMA = "key binary, value binary"
_IDS = 2_000  # different keys


def emit(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield for each event as many notifications as an event has matches on average."""
    for batch in batches:
        count = batch.num_rows
        if count:
            rows, keys = _prepared(count)
            yield pa.RecordBatch.from_arrays([keys, _values(batch).take(rows)], ["key", "value"])


def _values(batch: pa.RecordBatch) -> pa.Array:
    """Return one notification of each event, in covey's format."""
    topic, subscription = batch.column("topic")[0].as_py(), boxes.identifier(0).decode()
    numbers = [batch.column(name).cast(pa.string()) for name in ("partition", "offset")]
    event = pc.binary_join_element_wise(topic, *numbers, "-")
    suffix = f'","subscription":"{subscription}","version":100}}'
    parts = ['{"id":"', event, f'/{subscription}","event":"', event, suffix]
    return pc.binary_join_element_wise(*parts, "").cast(pa.binary())


def _prepared(count: int) -> tuple[pa.Array, pa.Array]:
    """Return for `count` events the row of the event of each notification, and the keys."""
    rows, keys = _prepared_for(1 << (count - 1).bit_length())
    return rows.slice(0, count * boxes.MATCHES), keys.slice(0, count * boxes.MATCHES)


@lru_cache(maxsize=32)
def _prepared_for(count: int) -> tuple[pa.Array, pa.Array]:
    rows = np.repeat(np.arange(count, dtype=np.int32), boxes.MATCHES)
    ids = pa.array([boxes.identifier(number) for number in range(_IDS)], pa.binary())
    return pa.array(rows), ids.take(pa.array(np.arange(len(rows)) % _IDS))
