"""The segment index: immutable arrays for any mix of intervals, lists, tags and balls.

Keys of scalar attributes are encoded as 16-bit codes, and regions as boxes of codes. A tree of
bitmaps finds the boxes. A region may be found by the rarest token that it requires; this token is
one more attribute of the tree. A region with a single ball is found by clusters of balls instead of
the tree. A constraint that a box cannot express is a residual constraint, which is verified on
candidates only. All data are plain arrays, which may be memory maps.

Modules, in the order in which data passes through them:

- `text_ranks`: texts and long decimals as integer ranks, so that they have codes as well.
- `encoded_column`: one scalar attribute, with its keys as integers, and the codebook of these.
- `token_vocabulary`: the number and the code of each token of one tags attribute; required tokens.
- `coded_boxes`: boxes of codes, with the interval ends that codes do not determine.
- `bitmap_tree`: the tree of bitmaps, which finds the leaves and boxes for rows of codes.
- `build`: builds a segment from regions: order of boxes, lead tokens, residual constraints, shared
  codebooks.
- `balls`: the index of regions that have a single ball on a vector attribute.
- `query`: events and regions as rows of codes, buffers for pairs, verification of residual
  constraints.
- `data`: `SegmentData`, all arrays of a segment, and regions reconstructed from them.
- `index`: `SegmentIndex`, the public class: match, find covering, covered and overlapping.
- `serialization`: a segment as named arrays and back; the names are part of the file format.

An ordinal is the position of a region inside its segment; a stored row is the number that the
region had when the segment was built.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.index.segment.build.shared_codebooks import SharedCodebooks

__all__ = [
    "SharedCodebooks",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "SharedCodebooks": "build.shared_codebooks",
    },
)
