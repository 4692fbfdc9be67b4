"""Kernels of planning: compiled loops over boxes, groups and leaf sets.

A box is one row: its lower ends, then its upper ends, as numbers of cells. Filters are changed in
place. Kernels that call each other must be in the same folder, because the cache of machine code is
keyed by the content of one folder.

Modules; each comes after the modules that it calls:

- `box_unions`: measure, containment and insertion for unions of a few boxes.
- `path_widening`: `FilterState`; add a box to the filter of a leaf and to the filters above it.
- `leaf_costs`: `CostCache` and `LeafArrays`; the leaf at which a box widens filters least.
- `greedy_loop`: assign subscribers one after another.
- `rectangle_fit`: a few rectangles that contain many boxes.
- `filter_refit`: `GroupArrays` and `TreeArrays`; filters fitted to the subscribers of leaves.
- `destroy_repair`: `AssignmentState`; destroy, repair and rollback, with a log of moves.
- `lns`: `run_lns`, the steps of large neighbourhood search.
- `leaf_bits`: leaves within the delay and leaves whose filters cover a box, as bits.
- `augmenting_paths`: `make_room`, chains of moves that end at a leaf with free capacity.
- `best_rectangles`: the most valuable union of up to three rectangles, for lower bounds.
"""
