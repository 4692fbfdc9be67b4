"""The random projection index: regions become small boxes, and boxes propose.

All number attributes together are one box, and each vector attribute is a ball; both are projected
on a few random directions. The intervals on the directions are the attributes of a `SegmentIndex`,
and the exact relation verifies what it proposes (papers: projection). Texts and long decimals are
kept as attributes of their own; tags, cosines and null are left to the relation.

Modules, in the order in which data passes through them:

- `projection_mapping`: `ProjectionMapping`, which projects events and regions to boxes.
- `index`: `RandomProjectionIndex`, and `FalseCovers`, its share of candidates in vain.

Wrong choice where regions have few attributes or leave numbers free: `SegmentIndex` is faster.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.index.projection.projection_mapping import ProjectionMapping

__all__ = [
    "ProjectionMapping",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "ProjectionMapping": "projection_mapping",
    },
)
