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

from covey.spark.task import told
from covey.spark.worker import settle
from covey.store.arrays import Arrays, pack
from covey.store.cache import Cache
from covey.store.files import Files
from covey.store.places import directory_at

__all__ = ["Named", "Portions"]

Named = Mapping[str, NDArray[Any]]
Work = Callable[[Arrays, int, int], Named]
"""From what is shared, the first row of a portion and the row after its last, to its answer."""


@dataclass(frozen=True, slots=True)
class Portions:
    """A place whose files all workers reach, and where shared arrays are while they are needed."""

    spark: SparkSession
    place: str

    @contextmanager
    def shared(self, arrays: Named, meta: Mapping[str, Any]) -> Iterator[str]:
        """Writes arrays for workers, and deletes them in the end; gives the name of the file."""
        files, packed = _files(self.place), pack(arrays, meta)
        files.put(packed)
        try:
            yield packed.sha256
        finally:
            files.delete(packed.sha256)

    def run(self, work: Work, file: str, count: int, size: int) -> list[Named]:
        """The answers of `work` for all portions of at most `size` of `count` rows, in order.

        Spark runs a portion again where it fails. Answers come through the driver: they should be
        a few bytes a row.
        """
        portions = max(1, -(-count // size))
        place = self.place

        def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for portion in batch.column(0).to_pylist():
                    start, stop = (count * n // portions for n in (portion, portion + 1))
                    found = _saved(work(_opened(place, file), start, stop))
                    yield pa.RecordBatch.from_pydict(
                        {"portion": [portion], "answer": pa.array([found], pa.binary())}
                    )
            settle()

        with told():
            frame = self.spark.range(0, portions, 1, portions)
            rows = frame.mapInArrow(answer, "portion long, answer binary").collect()
        by_portion = {row["portion"]: row["answer"] for row in rows}
        return [_loaded(by_portion[portion]) for portion in range(portions)]


def together(answers: Sequence[Named], name: str) -> NDArray[Any]:
    """An array of all answers, one after another."""
    return np.concatenate([answer[name] for answer in answers])


@lru_cache(4)
def _opened(place: str, file: str) -> Arrays:
    """Shared arrays, mapped once in a worker."""
    return _files(place).open(file)


def _files(place: str) -> Files:
    return Files(directory_at(place), Cache())


def _saved(arrays: Named) -> bytes:
    into = io.BytesIO()
    np.savez(into, allow_pickle=False, **arrays)
    return into.getvalue()


def _loaded(saved: bytes) -> Named:
    with np.load(io.BytesIO(saved), allow_pickle=False) as arrays:
        return dict(arrays)
