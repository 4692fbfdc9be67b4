"""The arrays of a segment, and regions reconstructed from them.

A segment does not store the regions that it was built from. They are reconstructed exactly from the
boxes of codes, the balls and the residual constraints.
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
from covey.space.space import LATE

__all__ = ["SegmentData", "reconstruct_regions", "without_late"]

Ints = NDArray[np.int64]


class SegmentData(NamedTuple):
    """All arrays of a segment, grouped by purpose.

    Every region has an ordinal. Regions that the tree finds have the lowest ordinals; regions that
    `ball_indexes` find come after them. `stored_rows` has the row number of the region at each
    ordinal. `exact_bits` has one bit per ordinal, which is set if the tree finds the region and its
    box expresses the whole region.
    """

    columns: tuple[EncodedColumn, ...]
    vocabularies: Mapping[str, TokenVocabulary]
    stored_rows: NDArray[np.int32]
    boxes: CodedBoxes
    exact_bits: NDArray[np.uint64]
    tree: BitmapTree
    ball_indexes: tuple[BallIndex, ...]
    residuals: tuple[ResidualConstraints, ...]

    @property
    def event_vocabularies(self) -> dict[str, TokenVocabulary]:
        """Vocabularies of the attributes of events, without that of late conditions."""
        return without_late(self.vocabularies)

    @property
    def event_residuals(self) -> list[ResidualConstraints]:
        """Residual constraints on attributes of events, without late conditions."""
        return [residual for residual in self.residuals if residual.name != LATE]

    @property
    def late_conditions(self) -> ResidualConstraints | None:
        """Late conditions of regions, or None if no region has one."""
        return next((residual for residual in self.residuals if residual.name == LATE), None)


def without_late(vocabularies: Mapping[str, TokenVocabulary]) -> dict[str, TokenVocabulary]:
    """Return vocabularies by attribute, without that of late conditions."""
    return {name: vocabulary for name, vocabulary in vocabularies.items() if name != LATE}


def reconstruct_regions(
    space: Space, data: SegmentData, ordinals: NDArray[np.integer[Any]]
) -> tuple[Regions, Ints]:
    """Return the regions at the distinct ordinals, and for each ordinal the row of its region."""
    distinct, row_of_ordinal = np.unique(ordinals, return_inverse=True)
    constraints: dict[str, Constraints] = {}
    for k, column in enumerate(data.columns):
        batch = data.boxes.read_constraints(k, column, distinct)
        rows = np.flatnonzero(~batch.is_unconstrained)
        constraints[column.name] = Constraints(rows, column.decode_constraints(batch.take(rows)))
    regions = Regions(space, len(distinct), constraints)
    sources: tuple[ResidualConstraints | BallIndex, ...] = (*data.residuals, *data.ball_indexes)
    for source in sources:
        regions = _replace_constraints(regions, source.name, source.restore_constraints(distinct))
    return regions, row_of_ordinal


def _replace_constraints(regions: Regions, name: str, replacement: Constraints) -> Regions:
    """Return regions in which the constraints of some rows on one attribute are replaced."""
    batch: Any = replacement.batch
    rows = replacement.rows
    if name in regions.constraints:
        previous = regions.constraints[name]
        unchanged = np.flatnonzero(~np.isin(previous.rows, rows))
        batch = type(batch).concat([previous.batch.take(unchanged), batch])
        rows = np.concatenate([previous.rows[unchanged], rows])
        order = np.argsort(rows)
        rows, batch = rows[order], batch.take(order)
    constraints = {**regions.constraints, name: Constraints(rows, batch)}
    return Regions(regions.space, regions.count, constraints)
