"""Plans for tables of 100,000 to 10M subscribers on Spark; the driver's memory stays constant.

The time is from a table in Parquet files to the plan, including the broker of each row, which is
written to the sink `noop`.
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
_ROWS = 1_000_000  # rows of a file

KEYS = {
    "table_s": "seconds for 100,000, 1M and 10M rows and 100 brokers",
    "table_over_grstar": "bandwidth over that of Gr*, for 100,000 and 1M rows",
    "table_flow_sets": "leaf sets in the flow problem, for 100,000, 1M and 10M rows",
    "table_flow_growth": "largest number of leaf sets over the smallest",
    "table_invalid": "plans that violate a constraint: should be 0",
}


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of the problem set `topics` with seed 1."""
    seconds, ratios, leaf_set_counts, invalid = [], [], [], 0
    with tempfile.TemporaryDirectory(prefix="covey-") as folder, session() as spark:
        for number, count in enumerate(sizes.tables):
            progress(number, len(sizes.tables), "tables")
            problem = ASSIGNMENT_PROBLEMS["topics"](count, sizes.brokers, seed=1)
            path = Path(folder) / str(count)
            _write(path, problem.subscribers)
            start = time.perf_counter()
            plan = assign_subscribers(
                spark.read.parquet(str(path)),
                problem.tree,
                position_cols=_AT,
                lower_cols=_LOW,
                upper_cols=_HIGH,
                target_load=problem.target_load,
                max_load=problem.max_load,
                steps=sizes.steps,
            )
            plan.assignment.write.format("noop").mode("overwrite").save()
            seconds.append(time.perf_counter() - start)
            leaf_set_counts.append(plan.leaf_set_count)
            invalid += not plan.verify().is_valid
            if number < 2:
                ratios.append(plan.bandwidth / greedy(problem).bandwidth)
    return {
        "table_s": " ".join(f"{duration:.0f}" for duration in seconds),
        "table_over_grstar": " ".join(f"{ratio:.3f}" for ratio in ratios),
        "table_flow_sets": " ".join(map(str, leaf_set_counts)),
        "table_flow_growth": round(max(leaf_set_counts) / min(leaf_set_counts), 2),
        "table_invalid": invalid,
    }


def _write(path: Path, wanted: object) -> None:
    path.mkdir()
    columns = np.hstack([wanted.positions, wanted.lower, wanted.upper])  # type: ignore[attr-defined]
    for start in range(0, len(columns), _ROWS):
        rows = columns[start : start + _ROWS]
        arrays = [np.arange(start, start + len(rows)), *rows.T]
        names = ["id", *_AT, *_LOW, *_HIGH]
        pq.write_table(pa.table(dict(zip(names, arrays, strict=True))), path / f"{start}.parquet")
