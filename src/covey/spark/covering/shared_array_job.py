"""Work of the core over portions of rows, in Spark's workers, with arrays that all of them map."""

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
from covey.spark.worker_errors import reraise_worker_errors
from covey.store import Cache
from covey.store.storage import ContentStore, MappedArrays, encode_arrays, open_storage

__all__ = ["NamedArrays", "SharedArrayJob"]

NamedArrays = Mapping[str, NDArray[Any]]
PortionWork = Callable[[MappedArrays, int, int], NamedArrays]
"""From what is shared, the first row of a portion and the row after its last, to its answer."""


@dataclass(frozen=True, slots=True)
class SharedArrayJob:
    """A place whose files all workers reach, and where shared arrays are while they are needed."""

    spark: SparkSession
    location: str

    @contextmanager
    def share_arrays(self, arrays: NamedArrays, meta: Mapping[str, JsonValue]) -> Iterator[str]:
        """Writes arrays for workers, and deletes them in the end; gives the name of the file."""
        files, packed = _open_files(self.location), encode_arrays(arrays, meta)
        files.put(packed)
        try:
            yield packed.sha256
        finally:
            files.delete(packed.sha256)

    def run(
        self, work: PortionWork, file: str, row_count: int, portion_rows: int
    ) -> list[NamedArrays]:
        """The answers of `work` for all portions of at most `size` of `count` rows, in order.

        Spark runs a portion again where it fails. Answers come through the driver: they should be
        a few bytes a row.
        """
        portions = max(1, -(-row_count // portion_rows))
        place = self.location

        def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for portion in batch.column(0).to_pylist():
                    start, stop = (row_count * n // portions for n in (portion, portion + 1))
                    found = _encode_answer(work(_open_arrays(place, file), start, stop))
                    yield pa.RecordBatch.from_pydict(
                        {"portion": [portion], "answer": pa.array([found], pa.binary())}
                    )
            freeze_gc()

        with reraise_worker_errors():
            frame = self.spark.range(0, portions, 1, portions)
            rows = frame.mapInArrow(answer, "portion long, answer binary").collect()
        by_portion = {row["portion"]: row["answer"] for row in rows}
        return [_decode_answer(by_portion[portion]) for portion in range(portions)]


def concat_answers(answers: Sequence[NamedArrays], name: str) -> NDArray[Any]:
    """An array of all answers, one after another."""
    return np.concatenate([answer[name] for answer in answers])


@lru_cache(4)
def _open_arrays(location: str, file: str) -> MappedArrays:
    """Shared arrays, mapped once in a worker."""
    return _open_files(location).open(file)


def _open_files(location: str) -> ContentStore:
    return ContentStore(open_storage(location), Cache())


def _encode_answer(arrays: NamedArrays) -> bytes:
    into = io.BytesIO()
    np.savez(into, allow_pickle=False, **arrays)
    return into.getvalue()


def _decode_answer(content: bytes) -> NamedArrays:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)
