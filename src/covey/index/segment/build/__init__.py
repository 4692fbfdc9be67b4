"""Construction of a segment from regions.

The builder encodes regions as boxes of codes, and chooses for each region whether it is found by
its box, by its rarest required token or by its ball. It orders the boxes so that similar boxes are
in the same leaf, builds the tree of bitmaps over them, and collects the residual constraints, which
boxes cannot express. With a sample of events, the order suits events like these.

Modules, in the order in which data passes through them:

- `shared_codebooks`: encodings of attributes that several segments share, so that a query is
  encoded once.
- `box_order`: the order of boxes and the starts of leaves; the chance of each code.
- `builder`: `build_segment_data`, which builds `SegmentData` from regions.

Cost: boxes × attributes for the tree, boxes × log(leaves) for the order.
"""
