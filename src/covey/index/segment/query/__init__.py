"""Queries to a segment: encoding, buffers for pairs, and verification of residual constraints.

A query is an array of rows of codes. An event or a region is one row (a region has a lower and an
upper corner), plus one more row for each distinct code of its tokens; of a region, only required
tokens count. Tokens that occur in no stored region have no code. The tree and the kernels propose
pairs of a query row and an ordinal. If the box of the stored region does not express the whole
region, its residual constraints are verified.

Modules, in the order in which data passes through them:

- `encoded_query`: `EncodedQuery`, events or regions as rows of codes and integers.
- `pair_buffer`: runs a search kernel with reused buffers, and enforces `max_pairs`.
- `residuals`: `ResidualConstraints`, which decide lists, null, tags and several balls exactly.

Each thread has its own buffers: the result of `collect_pairs` is valid until the thread calls
`collect_pairs` again.
"""
