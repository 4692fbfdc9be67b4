"""Regions of events, and the relations between them, as functions on arrays.

A region is a conjunction of at most one constraint per attribute. A batch of regions is stored by
columns: for each attribute, the rows of the regions that constrain it, and a batch of their
constraints. Constraints on scalars and tags are stored in a normal form: two of them admit the same
values if and only if they are equal. `contains` agrees with Spark exactly. `covers` never claims a
cover that does not hold, but may miss one.

Modules in the order in which data passes through them:

- `scalars`: intervals of keys with or without null, and lists (`IN`, `NOT IN`).
- `tags`: tokens that must and must not occur.
- `distances`: l2 distance and cosine similarity, with the same bits as in Spark.
- `balls`: vectors whose score with a centre lies in an interval.
- `regions`: `Regions`, the constraints on all attributes.
- `relations`: contains, covers and overlaps, for pairs; hull, selectivity and volume of regions.
- `range_sets`: sets of integers, stored as ranges.
- `hilbert`: positions on Hilbert's curve, and boxes as ranges of positions.
- `projections`: random directions, and the intervals to which balls and boxes are projected.

The kernels are in the modules that use them: `distances`, `relations` and `hilbert`.
"""

from covey.geometry.regions import Regions

__all__ = ["Regions"]
