"""The compiled loops of the indexes. Private; each has a NumPy twin in the tests.

Kernels take arrays only. Boxes are rows of codes: the lower codes of all attributes, then the upper
ones. Codes have 15 bits of 16, so that four of them, seen as one word with the free bits set, are
compared by one subtraction. Indices are unsigned where speed counts: numba tests signed ones for
being negative. Kernels that call each other stay in this one folder, because the machine-code cache
is keyed by the content of a kernel's folder.

Modules, in the order in which data passes through them:

- `bits`: words of bits: intersection of child sets, four codes compared at a time, prefetch.
- `key_codes`: the lookup guide of a codebook, codes of keys and interval ends, distinct codes.
- `box_partition`: boxes ordered by repeated splits, the ends of leaves.
- `tree_nodes`: node tests and bucket sets of the bitmap tree.
- `tree_search`: descent to the leaves, match of leaves, verification of single boxes.
- `residuals`: exact decisions on lists of keys and on tags.
- `ball_products`: inner products of vectors and balls, and what balls demand of them.
- `pair_grouping`: pairs grouped by query row.
- `hilbert_blocks`: blocks of Hilbert's curve and the candidates that they propose.
"""
