"""The Hilbert index: a grid over the most selective attributes, with cells numbered along a curve.

An event is represented by a cell of the grid, and a region by a box of cells. A box is divided into
blocks of the curve; a block is a run of 2^t positions that starts at a multiple of 2^t. All blocks
are in one sorted array, so that the blocks that contain a position are found by one binary search
for each block size. Candidates are verified by `covey.geometry.relations` (papers: mics).

Modules, in the order in which data passes through them:

- `grid`: `HilbertGrid`, which maps events to cells and regions to boxes of cells, and
  `find_selective_attributes`, which chooses its attributes.
- `index`: `HilbertIndex`, the sorted blocks and the search in them.

Do not use this index if most regions have no constrained attribute in common, or if all regions are
in a few cells: then there are too many candidates.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.index.hilbert.grid import HilbertGrid, find_selective_attributes

__all__ = [
    "HilbertGrid",
    "find_selective_attributes",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "HilbertGrid": "grid",
        "find_selective_attributes": "grid",
    },
)
