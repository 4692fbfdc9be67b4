"""Regions that are found by one ball on a vector attribute.

Boxes cannot prune balls of many dimensions, so a region with a single ball is not in the bitmap
tree. Balls are kept in clusters by direction: an event looks only into clusters whose direction it
follows far enough. Balls that form no clusters are compared with all events in matrix products,
first as sketches of few dimensions where that pays. Candidates are verified by Spark's arithmetic,
and the bounds are wide enough for the rounding of float32.

Modules, in the order in which data passes through them:

- `ball_demands`: the demand of a ball, four numbers that bound inner products; reach angles.
- `ball_clustering`: a cost model that chooses clusters and the dimensions of sketches.
- `ball_clusters`: `BallClusters`, the arrays, and the search for the balls around vectors.
- `ball_index`: `BallIndex`, regions with one ball each, at consecutive ordinals of a segment.

Fields of `BallClusters` are names of stored arrays: renaming one changes the file format.
"""
