"""The segment index: immutable arrays for any mix of intervals, lists, tags and balls.

Scalar keys become 16-bit codes, regions become boxes of codes, and boxes are the leaves of a tree
of bitmaps. A region that requires tokens is found by its rarest token, which is one more attribute
of that tree; a region with a single ball is found by clusters of balls instead. A constraint that a
box cannot express is a residual constraint, which is verified on candidates only. All data are
plain arrays, which may be memory maps.

Modules, in the order in which data passes through them:

- `codebook`: boundaries of one attribute, and the code of a key among them.
- `text_ranks`: texts and long decimals as integer ranks, so that they have codes as well.
- `encoded_column`: one scalar attribute: keys of any type as integers, with its codebook.
- `token_vocabulary`: number and code of each token of one tags attribute; required tokens.
- `coded_boxes`: boxes of codes, with the interval ends that codes do not determine.
- `bitmap_tree`: the tree of bitmaps over boxes: leaves and boxes for rows of codes.
- `build`: regions to arrays: order of boxes, lead tokens, residuals, shared codebooks.
- `balls`: regions that are found by a ball on a vector attribute, with balls in clusters.
- `query`: events and regions as rows of codes, pair buffers, residual verification.
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
