"""The random projection index: candidates are found by the intervals of regions on directions.

All number attributes together form one box, and each vector attribute forms a ball; both are
projected on a few random directions. The intervals on the directions are the attributes of a
`SegmentIndex`, whose candidates are verified by the exact relation (papers: projection). Texts and
long decimals are separate attributes of that segment. Tags, cosine balls and null are not
projected; only the verification takes them into account.

Modules, in the order in which data passes through them:

- `projection_mapping`: `ProjectionMapping`, which projects events and regions to small boxes.
- `index`: `RandomProjectionIndex`, and `FalseCovers`, which counts its false covers.

Do not use it if regions have few attributes or leave numbers free: `SegmentIndex` is faster then.
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
