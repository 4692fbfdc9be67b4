"""Index of regions that have a single ball on a vector attribute.

Boxes cannot prune balls of many dimensions, so a region with a single ball is not in the bitmap
tree. Instead, balls are clustered by direction, and an event is compared only with the balls of
clusters whose direction is close to its own. Balls that form no cluster are compared with all
events in matrix products, first as sketches of few dimensions if that is cheaper. Candidates are
verified with Spark's arithmetic, and the bounds allow for the rounding of float32.

Modules, in the order in which data passes through them:

- `ball_demands`: the demand of a ball (four numbers that bound inner products) and its reach angles
  (the largest angles between its centre and a vector in it).
- `ball_clustering`: a cost model that chooses clusters and the dimensions of sketches.
- `ball_clusters`: `BallClusters`, the stored arrays, with the search for the balls that contain a
  vector.
- `ball_index`: `BallIndex`, regions with one ball each, at consecutive ordinals of a segment.

The fields of `BallClusters` are names of stored arrays: renaming one changes the file format.
"""
