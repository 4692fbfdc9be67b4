"""Compiled kernels of the indexes. They are private; each has a NumPy twin in the tests.

Kernels take arrays and numbers. A box is a row of codes: the lower codes of all attributes, then
the upper codes. A code uses 15 of 16 bits. So a word of 64 bits contains four codes, each with a
free bit, and one subtraction compares four pairs of codes. Where speed matters, indices are
unsigned, because numba checks whether signed indices are negative. Kernels that call each other are
all in this folder, because the key of the machine-code cache is the content of a kernel's folder.

Modules, in the order in which data passes through them:

- `bits`: operations on words: intersection of child sets, comparison of four codes, prefetch.
- `key_codes`: the guide of a codebook, codes of keys and of interval ends, distinct codes of lists.
- `box_partition`: the order of boxes by repeated divisions in two, and the ends of leaves.
- `tree_nodes`: node tests and bucket sets of the bitmap tree.
- `tree_search`: descent to the leaves, search in the leaves, verification of single boxes.
- `residuals`: exact verification of intervals and lists of keys, and of rules on tags.
- `ball_products`: inner products of vectors and balls, compared with the demands of balls.
- `pair_grouping`: pairs grouped by query row.
- `hilbert_blocks`: blocks of Hilbert's curve, and candidates found by them.
"""
