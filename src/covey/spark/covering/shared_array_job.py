"""Jobs that run a function on portions of rows in workers, which map shared arrays into memory."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from covey._types import JsonValue
from covey.spark.matching.worker_cache import freeze_gc
from covey.spark.workers import reraise_worker_errors
from covey.store import Cache
from covey.store.storage import ContentStore, MappedArrays, encode_arrays, open_storage

__all__ = ["NamedArrays", "SharedArrayJob"]

NamedArrays = Mapping[str, NDArray[Any]]
PortionWork = Callable[[MappedArrays, int, int], NamedArrays]
"""Function that is run on a portion of rows, and returns arrays.

Its arguments are the shared arrays, the first row of the portion, and the row after the last one.
"""


@dataclass(frozen=True, slots=True)
class SharedArrayJob:
    """Runner of functions on portions of rows, with shared arrays.

    Args:
        spark: the session.
        location: folder for shared arrays, which all workers can access.
    """

    spark: SparkSession
    location: str

    @contextmanager
    def share_arrays(self, arrays: NamedArrays, meta: Mapping[str, JsonValue]) -> Iterator[str]:
        """Write arrays to a file, yield its name for `run`, and delete the file at the end.

        Args:
            arrays: the arrays by name.
            meta: JSON values that are stored with the arrays.
        """
        files, encoded = _open_files(self.location), encode_arrays(arrays, meta)
        files.put(encoded)
        try:
            yield encoded.sha256
        finally:
            files.delete(encoded.sha256)

    def run(
        self, work: PortionWork, file: str, row_count: int, portion_rows: int
    ) -> list[NamedArrays]:
        """Run a function on each portion of the rows; return its results, ordered by portion.

        After a failure, Spark calls the function again for the same portion. The driver collects
        all results, so a result should have only a few bytes per row.

        Args:
            work: the function.
            file: name of the file of shared arrays, from `share_arrays`.
            row_count: number of rows.
            portion_rows: largest number of rows of a portion.
        """
        portions = max(1, -(-row_count // portion_rows))
        location = self.location

        def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for portion in batch.column(0).to_pylist():
                    start, stop = (row_count * n // portions for n in (portion, portion + 1))
                    encoded = _encode_answer(work(_open_arrays(location, file), start, stop))
                    yield pa.RecordBatch.from_pydict(
                        {"portion": [portion], "answer": pa.array([encoded], pa.binary())}
                    )
            freeze_gc()

        with reraise_worker_errors():
            frame = self.spark.range(0, portions, 1, portions)
            rows = frame.mapInArrow(answer, "portion long, answer binary").collect()
        by_portion = {row["portion"]: row["answer"] for row in rows}
        return [_decode_answer(by_portion[portion]) for portion in range(portions)]


def concat_answers(answers: Sequence[NamedArrays], name: str) -> NDArray[Any]:
    """Return one array: the arrays with this name in all results of a job, concatenated."""
    return np.concatenate([answer[name] for answer in answers])


@lru_cache(4)
def _open_arrays(location: str, file: str) -> MappedArrays:
    """Return shared arrays; a worker maps their file once and then reuses it."""
    return _open_files(location).open(file)


def _open_files(location: str) -> ContentStore:
    return ContentStore(open_storage(location), Cache())


def _encode_answer(arrays: NamedArrays) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _decode_answer(content: bytes) -> NamedArrays:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)
