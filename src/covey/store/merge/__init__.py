"""Merges of segments: few segments to query, and each change rewritten seldom.

The policy is a pure function of segment sizes. A merge is claimed by the writer, built by another
process, and committed. Changes go on meanwhile: rows that died between claim and commit become
tombstones of the merged segment.

Modules, in the order in which a merge passes through them:

- `policy`: `TieredMergePolicy`, which segments to merge next, by level and by share of dead rows.
- `operation`: `MergeOperation`: build the merged segments, write them, and install them.
- `process`: `MergeProcess`, a child process that builds merges, driven by lines of JSON.
- `background`: `BackgroundMerger`, threads that keep such processes busy until they are closed.

A store without a `BackgroundMerger` stays correct and becomes slower with every batch;
`Store.merge` does one merge in the calling process.
"""
