"""Kernels of routing tables: compiled loops over arrays. Private.

The loops take NumPy arrays and numbers. They are in one folder, because the cache of machine code
is keyed by the sources of a folder: a kernel may call only kernels of the same folder.

Modules, in the order in which data passes through them:

- `dominance`: writes regions as points, and finds for each query point a stored point that is at
  most as large in every coordinate.
- `run_blocks`: finds, splits and joins runs of positions in a B+tree of two levels.
- `counted_ranges`: adds ranges to the tree or removes them, and tests what the tree contains.
- `first_cover`: the first region that contains each run of positions, and the absorbers of a
  region.
"""
