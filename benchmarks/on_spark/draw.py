"""Rows of a workload by number, as the columns of a table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from covey.geometry.balls import Balls
from covey.geometry.scalars import Scalars
from covey.space.keys import decode_floats
from covey.space.types import DOUBLE, FLOAT
from covey.workload import create_workload
from covey.workload.arrow_arrays import to_vector_lists

__all__ = ["balls", "events", "predicates", "ranges"]


def events(workload: str, start: int, stop: int) -> pa.RecordBatch:
    """`event_id` and the attributes."""
    drawn = create_workload(workload).generate_events(start, stop)
    numbered = [pa.array(np.arange(start, stop)), *drawn.columns]
    return pa.RecordBatch.from_arrays(numbered, ["event_id", *drawn.schema.names])


def predicates(workload: str, start: int, stop: int) -> pa.RecordBatch:
    """`id` and `predicate`."""
    texts = pa.array(create_workload(workload).generate_predicates(start, stop), pa.string())
    return pa.RecordBatch.from_arrays(
        [pa.array(np.arange(start, stop)), texts], ["id", "predicate"]
    )


def ranges(workload: str, start: int, stop: int) -> pa.RecordBatch:
    """`id` and the ends of boxes on doubles, all of whose sides are there."""
    columns = {"id": pa.array(np.arange(start, stop))}
    for name, given in create_workload(workload).generate_regions(start, stop).constraints.items():
        assert isinstance(given.batch, Scalars)
        assert len(given.rows) == stop - start
        columns[f"{name}_low"] = pa.array(decode_floats(given.batch.lower, DOUBLE))
        columns[f"{name}_high"] = pa.array(decode_floats(given.batch.upper, DOUBLE))
    return pa.RecordBatch.from_pydict(columns)


def balls(workload: str, start: int, stop: int) -> pa.RecordBatch:
    """`id`, `centre` and `radius` of balls on `embedding`, one a subscription."""
    given = create_workload(workload).generate_regions(start, stop).constraints["embedding"].batch
    assert isinstance(given, Balls)
    assert len(given.centres) == stop - start
    return pa.RecordBatch.from_pydict(
        {
            "id": pa.array(np.arange(start, stop)),
            "centre": to_vector_lists(given.centres),
            "radius": pa.array(decode_floats(given.upper, FLOAT).astype(np.float32)),
        }
    )
