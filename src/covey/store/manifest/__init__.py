"""Manifests: the files that describe versions, and the rules for deleting versions.

A version is a number. The manifest of a version is a JSON file with a checksum of its own content.
It names the segment files, the file of tombstones and the file of the zone map, and contains the
space of the predicates. A manifest is published in one step, after all files that it names, and
never changes.

Modules, in the order of a version's life:

- `space_json`: spaces as JSON and back: columns, derived attributes, session settings, limits.
- `manifest`: `Manifest` and `SegmentEntry`; list, read, find by label.
- `version_copy`: publish a version of one store as the next version of another.
- `leases`: `Lease`, which keeps a version from vacuum for a reader that will open it later.
- `vacuum`: delete old versions, then the files that no remaining manifest names.

A manifest can be read without opening any segment. The content of segments is described in
`covey.store.segments`; `covey.store.writer` decides when the next manifest is published.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.store.manifest.manifest import list_versions, now_ms
    from covey.store.manifest.space_json import combine_spaces, space_from_json, space_to_json

__all__ = [
    "combine_spaces",
    "list_versions",
    "now_ms",
    "space_from_json",
    "space_to_json",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "combine_spaces": "space_json",
        "list_versions": "manifest",
        "now_ms": "manifest",
        "space_from_json": "space_json",
        "space_to_json": "space_json",
    },
)
