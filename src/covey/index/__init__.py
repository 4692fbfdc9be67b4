"""Indexes of regions: which stored regions match events, cover regions or overlap them.

An index stores regions under row numbers. It answers a batch of queries with pairs of a query row
and a stored row. All indexes implement one protocol, `Index`, and run one contract test
(`covey.testing`). Each index proposes candidates and verifies them, so that all indexes return the
same pairs. These are the pairs for which the relation in `covey.geometry.relations` is true.
Whether a ball covers or overlaps another ball is decided cautiously: an index may miss a cover and
may report an overlap that does not exist, so that no event is lost.

`SegmentIndex` is the index that the store, the matcher and the routing tables use.
`BruteForceIndex` is the oracle of the tests. `HilbertIndex` and `RandomProjectionIndex` are the
indexes of two papers, for special cases and comparisons. Unlike the methods of the papers, they
verify every candidate.

Modules and sub-packages, from the contract to the implementations:

- `protocol`: the `Index` protocol; `Pairs`, the result of a query; `MatchResult`, which also counts
  candidates.
- `brute_force`: `BruteForceIndex`, which compares every stored region with every query.
- `segment`: `SegmentIndex`, which consists of immutable arrays: boxes of codes, a tree of bitmaps,
  balls and residual constraints.
- `projection`: `RandomProjectionIndex`, which projects regions on random directions, and stores the
  projections in a segment.
- `hilbert`: `HilbertIndex`, which divides a few attributes by a grid, and numbers the cells of the
  grid by Hilbert's curve.
- `kernels`: the compiled loops of all indexes.

The time of a query grows with the number of its candidates. The modules of all indexes except
`SegmentIndex` say when not to use them.
"""

from covey.index.brute_force import BruteForceIndex
from covey.index.hilbert.index import HilbertIndex
from covey.index.projection.index import RandomProjectionIndex
from covey.index.protocol import Index, MatchResult, Pairs
from covey.index.segment.index import SegmentIndex
from covey.index.segment.token_vocabulary import TokenVocabulary

__all__ = [
    "BruteForceIndex",
    "HilbertIndex",
    "Index",
    "MatchResult",
    "Pairs",
    "RandomProjectionIndex",
    "SegmentIndex",
    "TokenVocabulary",
]
