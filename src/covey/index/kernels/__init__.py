"""Compiled kernels of the indexes. They are private; each has a NumPy twin in the tests.

Kernels take arrays only. Boxes are rows of codes: the lower codes of all attributes, then the upper
ones. Codes use 15 of 16 bits. So a word holds four codes, each with a free bit, and one subtraction
compares four pairs of codes. Where speed matters, indices are unsigned, because numba checks
whether signed ones are negative. Kernels that call each other are all in this folder, because the
key of the machine-code cache is the content of a kernel's folder.

Modules, in the order in which data passes through them:

- `bits`: operations on words: intersection of child sets, comparison of four codes, prefetch.
- `key_codes`: the lookup guide of a codebook, codes of keys and interval ends, distinct codes.
- `box_partition`: boxes ordered by repeated divisions, and the ends of leaves.
- `tree_nodes`: node tests and bucket sets of the bitmap tree.
- `tree_search`: descent to the leaves, match of leaves, verification of single boxes.
- `residuals`: exact verification of lists of keys and of rules on tags.
- `ball_products`: inner products of vectors and balls, compared with the demands of balls.
- `pair_grouping`: pairs grouped by query row.
- `hilbert_blocks`: blocks of Hilbert's curve, and candidates found by them.
"""
