"""Functions that return the rows `start` to `stop` - 1 of a workload as an Arrow record batch."""

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
    """Return events with `event_id` and the attributes."""
    drawn = create_workload(workload).generate_events(start, stop)
    numbered = [pa.array(np.arange(start, stop)), *drawn.columns]
    return pa.RecordBatch.from_arrays(numbered, ["event_id", *drawn.schema.names])


def predicates(workload: str, start: int, stop: int) -> pa.RecordBatch:
    """Return subscriptions with `id` and `predicate`."""
    texts = pa.array(create_workload(workload).generate_predicates(start, stop), pa.string())
    return pa.RecordBatch.from_arrays(
        [pa.array(np.arange(start, stop)), texts], ["id", "predicate"]
    )


def ranges(workload: str, start: int, stop: int) -> pa.RecordBatch:
    """Return boxes with `id` and the columns `…_low` and `…_high` of each attribute.

    Attributes must be doubles that every box constrains.
    """
    columns = {"id": pa.array(np.arange(start, stop))}
    regions = create_workload(workload).generate_regions(start, stop)
    for name, constraints in regions.constraints.items():
        assert isinstance(constraints.batch, Scalars)
        assert len(constraints.rows) == stop - start
        columns[f"{name}_low"] = pa.array(decode_floats(constraints.batch.lower, DOUBLE))
        columns[f"{name}_high"] = pa.array(decode_floats(constraints.batch.upper, DOUBLE))
    return pa.RecordBatch.from_pydict(columns)


def balls(workload: str, start: int, stop: int) -> pa.RecordBatch:
    """Return balls on `embedding` with `id`, `centre` and `radius`, one per subscription."""
    batch = create_workload(workload).generate_regions(start, stop).constraints["embedding"].batch
    assert isinstance(batch, Balls)
    assert len(batch.centres) == stop - start
    return pa.RecordBatch.from_pydict(
        {
            "id": pa.array(np.arange(start, stop)),
            "centre": to_vector_lists(batch.centres),
            "radius": pa.array(decode_floats(batch.upper, FLOAT).astype(np.float32)),
        }
    )
