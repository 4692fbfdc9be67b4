"""Indexes of regions: which stored regions match events, cover regions or overlap them.

An index stores regions under row numbers. It answers a batch of queries with pairs of a query row
and a stored row. All indexes implement one protocol, `Index`, and run one contract test
(`covey.testing`). Each index proposes candidates and verifies them with
`covey.geometry.relations`, so that all indexes have the same results. Relations between balls are
inexact, in the direction that loses no event.

`SegmentIndex` is the index that the store, the matcher and the routing tables use. The others are
the oracle (`BruteForceIndex`) and the indexes of two papers (`HilbertIndex`,
`RandomProjectionIndex`), which are exact here and serve special cases and comparisons.

Modules and sub-packages, from the contract to the implementations:

- `protocol`: the `Index` protocol, `Pairs` (a result) and `MatchResult` (with candidates).
- `brute_force`: `BruteForceIndex`, which compares every stored region; the oracle of the tests.
- `segment`: `SegmentIndex`, immutable arrays: boxes of codes, a bitmap tree, balls, residuals.
- `projection`: `RandomProjectionIndex`, a segment of randomly projected boxes.
- `hilbert`: `HilbertIndex`, few attributes on a grid numbered by Hilbert's curve.
- `kernels`: the numba loops of all indexes.

The cost of a query grows with its candidates. The docstring of each index says when not to use it.
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
