"""Random boxes of integers, coded as a segment codes them, and rows that ask for them.

Few keys and fewer boundaries: most ends share their code with keys that are on the other side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry.scalars import Scalars
from covey.index.segment.bitmap_tree import BitmapTree
from covey.index.segment.codebook import LAST, Codebook
from covey.index.segment.coded_boxes import CodedBoxes
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
    """Boxes from `lower` to `upper`, a column an attribute, with a tree over them."""

    lower: Ints
    upper: Ints
    boxes: CodedBoxes
    tree: BitmapTree

    @classmethod
    def random(cls, random: np.random.Generator, count: int, attributes: int, leaf: int) -> Coded:
        """Boxes with some ends free, `leaf` of them in a leaf."""
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
        """Boxes and the rows that are inside of them, from the keys themselves."""
        inside = (self.lower[:, None] <= low) & (high <= self.upper[:, None])
        return pairs(*np.nonzero(inside.all(axis=2)))

    def reached(self, asked: EncodedQuery) -> tuple[Ints, Any, Any]:
        """Where rows of each leaf start, and what kernels are given before and after the room."""
        boxes, high = self.boxes, None if asked.high is asked.low else asked.high
        starts, rows = self.tree.find_leaves(asked.low, high)
        rest = (
            asked.low.view(np.uint64), asked.high.view(np.uint64), asked.query_rows, asked.low_keys,
            asked.high_keys, boxes.codes, boxes.codes.view(np.uint64), boxes.ends, boxes.starts,
            boxes.sparse, boxes.odd, boxes.before,
        )  # fmt: skip
        return starts, (asked.low, high, rows, starts, *self.tree.levels[-1]), rest


def points(
    random: np.random.Generator, count: int, attributes: int
) -> tuple[EncodedQuery, Ints, Ints]:
    """Rows whose corners are one: events, and their keys."""
    keys = random.integers(-1, KEYS + 1, (count, attributes))
    codes, wide = _coded(keys)
    return EncodedQuery(codes, codes, wide, wide, np.arange(count, dtype=np.int32), {}), keys, keys


def corners(
    random: np.random.Generator, count: int, attributes: int
) -> tuple[EncodedQuery, Ints, Ints]:
    """Rows with two corners: regions, and the keys of either."""
    low = random.integers(-1, KEYS + 1, (count, attributes))
    high = low + random.integers(0, 5, low.shape)
    low_codes, low_keys = _coded(low)
    high_codes, high_keys = _coded(high)
    owner = np.arange(count, dtype=np.int32)
    return EncodedQuery(low_codes, high_codes, low_keys, high_keys, owner, {}), low, high


def _coded(keys: Ints) -> tuple[NDArray[np.uint16], Ints]:
    shape = (len(keys), padded_width(keys.shape[1]))
    codes, wide = np.zeros(shape, np.uint16), np.zeros(shape, np.int64)
    wide[:, : keys.shape[1]] = keys
    for k in range(keys.shape[1]):
        CODEBOOK.write_codes(wide[:, k], np.ones(len(keys), np.bool_), codes[:, k])
    return codes, wide


def pairs(first: Any, second: Any) -> Pairs:
    """Two arrays as a set of pairs, none of which is there twice."""
    found = list(zip(first.tolist(), second.tolist(), strict=True))
    assert len(found) == len(set(found)), "a pair was given twice"
    return set(found)
