"""Nodes of a tree of bitmaps: the attributes that they test, and the sets of their children."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.index.kernels.bits import LAST, ONE, WORDS

__all__ = ["find_bucket", "find_tightest_attribute", "write_bucket_sets", "write_node_tests"]


@kernel
def find_tightest_attribute(codes: NDArray[np.uint16], rows: NDArray[np.int32]) -> int:
    """Return the attribute on which a code is within the fewest of the boxes at `rows`.

    The number is an average over the codes between the lowest and the highest end of the boxes.
    """
    width, fewest, best_attribute = codes.shape[1] // 2, np.inf, 0
    for k in range(width):
        first, last = LAST, 2
        for row in rows:
            for code in (codes[row, k], codes[row, width + k]):
                if 2 < code < LAST:
                    first, last = min(first, np.int64(code)), max(last, np.int64(code))
        if first > last:
            continue
        met = 0
        for row in rows:
            lower, upper = np.int64(codes[row, k]), np.int64(codes[row, width + k])
            met += min(upper, last) - max(lower, first) + 1
        if met / (last - first + 1) < fewest:
            fewest, best_attribute = met / (last - first + 1), k
    return best_attribute


@kernel
def write_node_tests(
    codes: NDArray[np.uint16], children: NDArray[np.int64], max_buckets: int, node: int,
    attribute: NDArray[np.int32], base: NDArray[np.int32], scale: NDArray[np.int32],
    size: NDArray[np.int32],
) -> int:  # fmt: skip
    """Write the tests of a node, and return their number.

    There is a test for each attribute that a child constrains, and at least one test. The attribute
    that distinguishes the children best comes first. The buckets of a test divide the codes from
    the lowest to the highest end of the children; null and unbounded ends do not count.
    """
    width, count = codes.shape[1] // 2, 0
    node_children = np.arange(children[node], children[node + 1]).astype(np.int32)
    best = find_tightest_attribute(codes, node_children)
    for j in range(width):
        k = best if j == 0 else j - 1 if j <= best else j
        first, last, is_free = 65535, 0, True
        for child in node_children:
            lower, upper = codes[child, k], codes[child, width + k]
            is_free &= lower == 0 and upper == LAST
            for code in (lower, upper):
                if 2 < code < LAST:
                    first, last = min(first, np.int64(code)), max(last, np.int64(code))
        if is_free and j > 0:
            continue
        span = max(1, last - first + 1)
        attribute[count], base[count] = k, min(first, last)
        scale[count] = min(1 << 16, ((max_buckets - 2) << 16) // span)
        size[count] = min(max_buckets, span + 2)
        count += 1
    return count


@kernel
def write_bucket_sets(
    lower: NDArray[np.uint16], upper: NDArray[np.uint16], base: int, scale: int, size: int,
    sets: NDArray[np.uint64],
) -> None:  # fmt: skip
    """Write to `sets`, for each bucket, the set of the children whose intervals meet the bucket.

    The interval of child i is from code `lower[i]` to code `upper[i]`.
    """
    starting = np.zeros((size, WORDS), np.uint64)
    ending = np.zeros((size, WORDS), np.uint64)
    for i in range(len(lower)):
        bit = ONE << np.uint64(i & 63)
        starting[find_bucket(lower[i], base, scale, size), i >> 6] |= bit
        ending[find_bucket(upper[i], base, scale, size), i >> 6] |= bit
    for w in range(WORDS):
        met = np.uint64(0)
        for b in range(size):
            met |= starting[b, w]
            sets[b * WORDS + w] = met
            met &= ~ending[b, w]


@kernel
def find_bucket(code: Any, base: Any, scale: Any, size: Any) -> Any:
    """Return the bucket of a code.

    It is 0 for codes below `base`. Other codes have buckets from 1 to `size - 1`, in proportion to
    their distance from `base`.
    """
    off = np.int64(code) - np.int64(base)
    return max(np.int64(0), min(np.int64(size) - 1, 1 + (off * np.int64(scale) >> 16)))
