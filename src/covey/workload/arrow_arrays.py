"""Conversion of drawn NumPy arrays to Arrow columns of events."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.workload.block_rng import Columns

__all__ = [
    "build_record_batch",
    "to_decimal_array",
    "to_tag_lists",
    "to_text_array",
    "to_vector_lists",
]


def build_record_batch(
    schema: pa.Schema, blocks: Iterator[Columns], to_arrays: Callable[[Columns], list[pa.Array]]
) -> pa.RecordBatch:
    """Build one record batch from all blocks.

    Args:
        schema: schema of the batch.
        blocks: blocks of rows; each contains the drawn arrays of its columns by name.
        to_arrays: function from a block to Arrow arrays, in the order of the schema.
    """
    return pa.concat_batches(
        [pa.RecordBatch.from_arrays(to_arrays(block), schema=schema) for block in blocks]
    )


def to_text_array(values: NDArray[np.object_], codes: NDArray[np.int64]) -> pa.Array:
    """Return an array of strings in which row i is `values[codes[i]]`."""
    return pa.array(values, pa.string()).take(pa.array(codes))


def to_decimal_array(
    unscaled: NDArray[np.int64], is_valid: NDArray[np.bool_], precision: int, scale: int
) -> pa.Array:
    """Return decimals from their unscaled integers, with null where `is_valid` is False.

    >>> to_decimal_array(np.array([1250, 7]), np.array([True, False]), 10, 2).to_pylist()
    [Decimal('12.50'), None]
    """
    words = np.stack([unscaled, unscaled >> 63], axis=1)  # 128 bits, the low half first
    bits = pa.py_buffer(np.packbits(is_valid, bitorder="little"))
    type_ = pa.decimal128(precision, scale)
    return pa.Array.from_buffers(type_, len(unscaled), [bits, pa.py_buffer(words)])


def to_tag_lists(
    values: NDArray[np.object_], codes: NDArray[np.int64], lengths: NDArray[np.int64]
) -> pa.Array:
    """Return lists of strings: list i has `values[c]` for the first `lengths[i]` codes c of row i.

    `codes` is a matrix with one row for each list.

    >>> values, codes = np.array(["a", "b"], object), np.array([[1, 0], [0, 0]])
    >>> to_tag_lists(values, codes, np.array([2, 1])).to_pylist()
    [['b', 'a'], ['a']]
    """
    is_used = np.arange(codes.shape[1]) < lengths[:, None]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), to_text_array(values, codes[is_used]))


def to_vector_lists(matrix: NDArray[np.float32]) -> pa.Array:
    """Return lists of floats, one for each row of a matrix."""
    count, length = matrix.shape
    offsets = pa.array(np.arange(count + 1, dtype=np.int32) * np.int32(length))
    return pa.ListArray.from_arrays(offsets, pa.array(matrix.reshape(-1)))
