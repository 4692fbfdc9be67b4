"""Construction of a segment from regions.

The builder encodes regions as boxes of codes, and chooses for each region whether it is found by
its box, by its rarest required token or by its ball. It orders boxes so that similar ones share a
leaf, builds the bitmap tree over them and collects the residual constraints that boxes cannot
express. A sample of events makes the order better for similar events.

Modules, in the order in which data passes through them:

- `shared_codebooks`: columns that several segments share, so that a query is encoded once.
- `box_order`: the order of boxes and the starts of leaves; the chance of each code.
- `builder`: `build_segment_data`, from regions to `SegmentData`.

Cost: boxes × attributes for the tree, boxes × log(leaves) for the order.
"""
