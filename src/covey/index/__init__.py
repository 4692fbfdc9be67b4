"""Indexes of regions: which stored regions match events, cover regions or overlap them.

An index stores regions under row numbers and answers batches with pairs of a query row and a
stored row. All indexes implement one protocol, `Index`, and run one contract test
(`covey.testing`). Each proposes candidates and verifies them, so its answer is that of
`covey.geometry.relations` for every pair; between balls it errs on the side that loses no event.

`SegmentIndex` is the index that the store, the matcher and the routing tables use. The others are
the oracle (`BruteForceIndex`) and the indexes of two papers (`HilbertIndex`,
`RandomProjectionIndex`), which are exact here and serve special cases and comparisons.

Modules and sub-packages, from the contract to the implementations:

- `protocol`: the `Index` protocol, `Pairs` (the answer) and `MatchResult` (with candidates).
- `brute_force`: `BruteForceIndex`, which tries every stored region; the oracle of the tests.
- `segment`: `SegmentIndex`, immutable arrays: boxes of codes, a bitmap tree, balls, residuals.
- `projection`: `RandomProjectionIndex`, a segment of randomly projected boxes.
- `hilbert`: `HilbertIndex`, few attributes on a grid numbered by Hilbert's curve.
- `kernels`: the numba loops of all of them.

An answer costs its candidates; each index states in its docstring when it is the wrong choice.
"""

from covey.index.brute_force import BruteForceIndex
from covey.index.hilbert.index import HilbertIndex
from covey.index.projection.index import RandomProjectionIndex
from covey.index.protocol import Index, MatchResult, Pairs
from covey.index.segment.index import SegmentIndex

__all__ = [
    "BruteForceIndex",
    "HilbertIndex",
    "Index",
    "MatchResult",
    "Pairs",
    "RandomProjectionIndex",
    "SegmentIndex",
]
