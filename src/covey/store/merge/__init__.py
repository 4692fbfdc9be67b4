"""Merges of segments, so that queries read few segments and changes are rewritten rarely.

The merge policy is a pure function of segment sizes. A merge is claimed by the writer, built by
this or another process, and committed by the writer. Changes continue meanwhile: rows that die
between claim and commit become tombstones of the merged segment.

Modules, in the order in which a merge passes through them:

- `policy`: `TieredMergePolicy`, which chooses segments by level and by share of dead rows.
- `operation`: `MergeOperation`, the inputs of a merge; builds, writes and installs the results.
- `process`: `MergeProcess`, a child process that receives requests for merges and builds them.
- `background`: `BackgroundMerger`, which does merges in such processes until it is closed.

Without merges a store stays correct, but queries become slower with every batch. `Store.merge` does
one merge in the calling process.
"""
