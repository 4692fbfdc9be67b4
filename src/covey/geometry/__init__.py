"""Regions of events, and the relations between them, as functions on arrays.

A region is a conjunction of at most one constraint per attribute. A batch of regions is stored by
columns: for each attribute, the rows that constrain it and a batch of their constraints. A set of
scalars or of tag lists has one normal form: two constraints admit the same values if and only if
their rows are equal. `contains` agrees with Spark exactly. `covers` never claims a cover that does
not hold.

Modules in the order in which data passes through them:

- `scalars`: intervals of keys with or without null, and lists (`IN`, `NOT IN`).
- `tags`: tokens that must and must not occur.
- `distances`: l2 distance and cosine similarity, bit for bit as Spark computes them.
- `balls`: vectors whose score with a centre lies in an interval.
- `regions`: `Regions`, the constraints on all attributes.
- `relations`: contains, covers, overlaps, hull, selectivity and volume, pair by pair.
- `range_sets`: sets of integers as ranges.
- `hilbert`: positions on Hilbert's curve, and boxes as ranges of positions.
- `projections`: random directions, and the intervals to which balls and boxes are projected.

The kernels are in the modules that use them: `distances`, `relations` and `hilbert`.
"""

from covey.geometry.regions import Regions

__all__ = ["Regions"]
