"""Parquet files whose damage shows only when their rows are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["write_damaged_parquet"]


def write_damaged_parquet(path: Path) -> None:
    """Write a Parquet file of a column `n` with a readable schema and unreadable rows."""
    numbers = np.random.default_rng(1).integers(0, 1 << 60, 10_000)
    pq.write_table(pa.table({"n": numbers}), path)
    content = bytearray(path.read_bytes())
    content[4:60] = b"\xff" * 56  # the header of the first page
    path.write_bytes(content)
