"""The Hilbert index: the most selective attributes on a grid, numbered by Hilbert's curve.

Events become cells, regions become boxes of cells, and a box becomes blocks of the curve: runs of
2^t positions that start at a multiple of 2^t. All blocks are in one sorted array, so that the
blocks that contain a position are found by one binary search per block size. Candidates are
verified by `covey.geometry.relations` (papers: mics).

Modules, in the order in which data passes through them:

- `grid`: `HilbertGrid`, from events to cells, from regions to boxes; choice of attributes.
- `index`: `HilbertIndex`, the sorted blocks and the search in them.

Do not use it if regions have no constrained attribute in common, or if all are in a few cells:
there are too many candidates then.
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
