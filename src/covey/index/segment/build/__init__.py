"""How a segment is built from regions.

The builder encodes regions as boxes of codes, decides by what each region is found (its box, its
rarest required token or its ball), orders boxes so that similar ones share a leaf, builds the
bitmap tree over them and collects the residual constraints that boxes cannot express. A sample of
events makes the order better for events like them.

Modules, in the order in which data passes through them:

- `shared_codebooks`: columns that several segments share, so that a query is encoded once.
- `box_order`: the order of boxes and where leaves start; the chance of each code in the sample.
- `builder`: `build_segment_data`, from regions to `SegmentData`.

Cost: boxes times attributes for the tree, boxes times the logarithm of the leaves for the order.
"""
