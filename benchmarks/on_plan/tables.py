"""Tables of 100,000 to 10M subscribers on Spark: what the driver holds does not grow with them.

Seconds are from a table in Parquet to the plan with the broker of each row, written to `noop`.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import Value, progress
from benchmarks.on_plan.sizes import Sizes
from benchmarks.on_spark.session import session
from covey.plan import greedy
from covey.plan.workload.problems import ASSIGNMENT_PROBLEMS
from covey.spark import assign_subscribers

__all__ = ["KEYS", "run"]

_AT, _LOW, _HIGH = [f"n{k}" for k in range(5)], ["x1", "y1"], ["x2", "y2"]
_ROWS = 1_000_000  # of a file

KEYS = {
    "table_s": "seconds for 100,000, 1M and 10M rows and 100 brokers",
    "table_over_grstar": "bandwidth against Gr*, the first two",
    "table_flow_sets": "vertices of the flow, all three",
    "table_flow_growth": "the largest of them against the smallest",
    "table_invalid": "plans that do not keep to something",
}


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Topics, seed 1."""
    seconds, ratios, sets, invalid = [], [], [], 0
    with tempfile.TemporaryDirectory(prefix="covey-") as folder, session() as spark:
        for number, count in enumerate(sizes.tables):
            progress(number, len(sizes.tables), "tables")
            problem = ASSIGNMENT_PROBLEMS["topics"](count, sizes.brokers, seed=1)
            path = Path(folder) / str(count)
            _write(path, problem.subscribers)
            began = time.perf_counter()
            found = assign_subscribers(
                spark.read.parquet(str(path)),
                problem.tree,
                position_cols=_AT,
                lower_cols=_LOW,
                upper_cols=_HIGH,
                target_load=problem.target_load,
                max_load=problem.max_load,
                steps=sizes.steps,
            )
            found.assignment.write.format("noop").mode("overwrite").save()
            seconds.append(time.perf_counter() - began)
            sets.append(found.leaf_set_count)
            invalid += not found.verify().is_valid
            if number < 2:
                ratios.append(found.bandwidth / greedy(problem).bandwidth)
    return {
        "table_s": " ".join(f"{one:.0f}" for one in seconds),
        "table_over_grstar": " ".join(f"{one:.3f}" for one in ratios),
        "table_flow_sets": " ".join(map(str, sets)),
        "table_flow_growth": round(max(sets) / min(sets), 2),
        "table_invalid": invalid,
    }


def _write(path: Path, wanted: object) -> None:
    path.mkdir()
    columns = np.hstack([wanted.positions, wanted.lower, wanted.upper])  # type: ignore[attr-defined]
    for start in range(0, len(columns), _ROWS):
        some = columns[start : start + _ROWS]
        arrays = [np.arange(start, start + len(some)), *some.T]
        names = ["id", *_AT, *_LOW, *_HIGH]
        pq.write_table(pa.table(dict(zip(names, arrays, strict=True))), path / f"{start}.parquet")
