"""Random integer boxes, encoded as a segment encodes them, and query rows for them.

Keys are few and boundaries fewer, so that the code of most ends is also the code of keys on the
other side of the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry.scalars import Scalars
from covey.index.segment.bitmap_tree import BitmapTree
from covey.index.segment.coded_boxes import CodedBoxes
from covey.index.segment.encoded_column import LAST, Codebook
from covey.index.segment.query.encoded_query import EncodedQuery, padded_width
from covey.space.keys import key_domain
from covey.space.types import Type

Ints = NDArray[np.int64]
Pairs = set[tuple[int, int]]

WHOLE = key_domain(Type("bigint"))
KEYS, EVERY = 40, 3
CODEBOOK = Codebook.from_boundaries(np.arange(0, KEYS, EVERY))


@dataclass(frozen=True)
class Coded:
    """Boxes from `lower` to `upper`, one column per attribute, with a tree over them."""

    lower: Ints
    upper: Ints
    boxes: CodedBoxes
    tree: BitmapTree

    @classmethod
    def random(cls, random: np.random.Generator, count: int, attributes: int, leaf: int) -> Coded:
        """Draw boxes, some of them with unbounded ends, and put `leaf` of them in each leaf."""
        lower = random.integers(0, KEYS, (count, attributes))
        upper = np.minimum(lower + random.integers(0, KEYS, lower.shape), KEYS - 1)
        lower[random.random(lower.shape) < 0.3] = WHOLE.low
        upper[random.random(upper.shape) < 0.3] = WHOLE.high
        width = padded_width(attributes)
        codes = np.zeros((count, 2 * width), np.uint16)
        codes[:, width:] = LAST
        ends: list[Ints | None] = [None] * (2 * width)
        for k in range(attributes):
            batch = Scalars.from_intervals(WHOLE, lower[:, k], upper[:, k])
            codes[:, k], codes[:, width + k], _ = CODEBOOK.encode_intervals(batch)
            ends[k], ends[width + k] = lower[:, k].copy(), upper[:, k].copy()
        leaves = np.append(np.arange(0, count, leaf), count)
        return cls(lower, upper, CodedBoxes.build(codes, ends), BitmapTree.build(codes, leaves))

    def containing(self, low: Ints, high: Ints) -> Pairs:
        """Return the pairs of a box and a query row inside it, computed from the keys."""
        inside = (self.lower[:, None] <= low) & (high <= self.upper[:, None])
        return pairs(*np.nonzero(inside.all(axis=2)))

    def reached(self, query: EncodedQuery) -> tuple[Ints, Any, Any]:
        """Return the row starts of each leaf, and the arguments of kernels around the buffer."""
        boxes, high = self.boxes, None if query.high is query.low else query.high
        starts, rows = self.tree.find_leaves(query.low, high)
        other_arguments = (
            query.low.view(np.uint64), query.high.view(np.uint64), query.query_rows, query.low_keys,
            query.high_keys, boxes.codes, boxes.codes.view(np.uint64), boxes.ends, boxes.starts,
            boxes.sparse, boxes.odd, boxes.before,
        )  # fmt: skip
        return starts, (query.low, high, rows, starts, *self.tree.levels[-1]), other_arguments


def points(
    random: np.random.Generator, count: int, attributes: int
) -> tuple[EncodedQuery, Ints, Ints]:
    """Draw query rows with one corner, as events have; return the query and its keys."""
    keys = random.integers(-1, KEYS + 1, (count, attributes))
    codes, wide = _coded(keys)
    return EncodedQuery(codes, codes, wide, wide, np.arange(count, dtype=np.int32), {}), keys, keys


def corners(
    random: np.random.Generator, count: int, attributes: int
) -> tuple[EncodedQuery, Ints, Ints]:
    """Draw query rows with two corners, as regions have; return the query and the keys of both."""
    low = random.integers(-1, KEYS + 1, (count, attributes))
    high = low + random.integers(0, 5, low.shape)
    low_codes, low_keys = _coded(low)
    high_codes, high_keys = _coded(high)
    row_numbers = np.arange(count, dtype=np.int32)
    return EncodedQuery(low_codes, high_codes, low_keys, high_keys, row_numbers, {}), low, high


def _coded(keys: Ints) -> tuple[NDArray[np.uint16], Ints]:
    shape = (len(keys), padded_width(keys.shape[1]))
    codes, wide = np.zeros(shape, np.uint16), np.zeros(shape, np.int64)
    wide[:, : keys.shape[1]] = keys
    for k in range(keys.shape[1]):
        CODEBOOK.write_codes(wide[:, k], np.ones(len(keys), np.bool_), codes[:, k])
    return codes, wide


def pairs(first: Any, second: Any) -> Pairs:
    """Return two arrays as a set of pairs, and fail if a pair occurs twice."""
    listed = list(zip(first.tolist(), second.tolist(), strict=True))
    assert len(listed) == len(set(listed)), "a pair occurs twice"
    return set(listed)
