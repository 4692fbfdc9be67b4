"""What a segment is asked, where pairs are collected, and how residuals are verified.

A query is rows of codes: an event is one row, a region is two corners, and either has one more row
for each token that leads to stored regions. The tree and the kernels propose pairs of a query row
and an ordinal; pairs whose boxes do not say everything are verified by the residual constraints.

Modules, in the order in which data passes through them:

- `encoded_query`: `EncodedQuery`, events or regions as rows of codes and integers.
- `pair_buffer`: runs a search kernel with buffers that are reused; enforces `max_pairs`.
- `residuals`: `ResidualConstraints`, the exact decision on lists, null, tags and several balls.

A buffer belongs to a thread; what `collect_pairs` returns is valid until its next call there.
"""
