"""The random projection index: candidates are found by the intervals of regions on directions.

The intervals of a region on all number attributes form one box, and its constraint on a vector
attribute is a ball. The box and the balls are projected on a few random directions. Each direction
is an attribute of a `SegmentIndex`, in which a region has its intervals on the directions. The
candidates of this segment are verified with the original regions (papers: projection). Texts and
long decimals are not projected, but are attributes of the segment too. Tags, cosine balls, and
numbers or vectors that may be null are decided only by the verification.

Modules, in the order in which data passes through them:

- `projection_mapping`: `ProjectionMapping`, which projects events and regions to small boxes.
- `index`: `RandomProjectionIndex`, and `FalseCovers`, which counts its false covers.

Do not use this index if regions have few attributes or do not constrain all numbers: then
`SegmentIndex` is faster.
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
