"""The arrays of a segment, and regions reconstructed from them.

A segment does not store the regions that it was built from: boxes of codes, balls and residual
constraints have all that is needed to tell them again, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.regions import Constraints
from covey.index.segment.balls.ball_index import BallIndex
from covey.index.segment.bitmap_tree import BitmapTree
from covey.index.segment.coded_boxes import CodedBoxes
from covey.index.segment.encoded_column import EncodedColumn
from covey.index.segment.query.residuals import ResidualConstraints
from covey.index.segment.token_vocabulary import TokenVocabulary
from covey.space import Space

__all__ = ["SegmentData", "reconstruct_regions"]

Ints = NDArray[np.int64]


class SegmentData(NamedTuple):
    """The arrays of a segment, by what they are for.

    Every region has an ordinal, and `stored_rows` has the row number of the region at each. First
    come those that the tree leads to, then those that are found by a ball. `exact_bits` has a bit
    for each ordinal: whether its box says all of its region.
    """

    columns: tuple[EncodedColumn, ...]
    vocabularies: Mapping[str, TokenVocabulary]
    stored_rows: NDArray[np.int32]
    boxes: CodedBoxes
    exact_bits: NDArray[np.uint64]
    tree: BitmapTree
    ball_indexes: tuple[BallIndex, ...]
    residuals: tuple[ResidualConstraints, ...]


def reconstruct_regions(
    space: Space, data: SegmentData, ordinals: NDArray[np.integer[Any]]
) -> tuple[Regions, Ints]:
    """The regions at some ordinals, each once, and which of them is at each ordinal."""
    distinct, at = np.unique(ordinals, return_inverse=True)
    constraints: dict[str, Constraints] = {}
    for k, column in enumerate(data.columns):
        batch = data.boxes.read_constraints(k, column, distinct)
        rows = np.flatnonzero(~batch.is_unconstrained)
        constraints[column.name] = Constraints(rows, column.decode_constraints(batch.take(rows)))
    regions = Regions(space, len(distinct), constraints)
    unsaid: tuple[ResidualConstraints | BallIndex, ...] = (*data.residuals, *data.ball_indexes)
    for part in unsaid:
        regions = _replace_constraints(regions, part.name, part.restore_constraints(distinct))
    return regions, at


def _replace_constraints(regions: Regions, name: str, replacement: Constraints) -> Regions:
    """Regions with other constraints on one attribute, for the rows that these have."""
    batch: Any = replacement.batch
    rows = replacement.rows
    if name in regions.constraints:
        given = regions.constraints[name]
        others = np.flatnonzero(~np.isin(given.rows, rows))
        batch = type(batch).concat([given.batch.take(others), batch])
        rows = np.concatenate([given.rows[others], rows])
        order = np.argsort(rows)
        rows, batch = rows[order], batch.take(order)
    constraints = {**regions.constraints, name: Constraints(rows, batch)}
    return Regions(regions.space, regions.count, constraints)
