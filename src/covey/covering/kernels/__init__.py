"""Kernels of the covering package: compiled loops for box subtraction and hull merging.

Kernels read and write arrays of codes; they do not use regions or events. Codes are int32. A box is
a row of `lower` and the same row of `upper`, both ends included.

Modules, in the order in which they are used:

- `subtraction`: choose the box that contains the largest share of a piece, and divide the remainder
  of the piece into disjoint boxes. Called by `covey.covering.subsumption`.
- `hull_merging`: merge the boxes of a group two by two, the cheapest pair first. The cost of a
  merge is the added volume, or with a sample a number of events that the hull admits. Called by
  `covey.covering.hull_merging`.

The machine code of a kernel is cached by the content of this folder, so kernels that call each
other must stay in this folder.
"""
