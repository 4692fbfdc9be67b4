"""Subscriptions spread over zones, and the file that says where the zones are.

A subscription is in a segment of each zone that it meets. The first of them is where it counts, the
others are copies: so it is counted once, and found once by whoever asks all zones.
"""

from __future__ import annotations

from collections.abc import Iterator

from covey.errors import StoreError
from covey.space import Space
from covey.store.segments.segment import SubscriptionBatch
from covey.store.storage.array_file import EncodedFile, MappedArrays, encode_arrays
from covey.zones import ZoneMap

__all__ = ["encode_zone_map", "read_zone_map", "split_by_zone"]

_KIND = "zone_map"


def split_by_zone(
    batch: SubscriptionBatch, zone_map: ZoneMap
) -> Iterator[tuple[int, SubscriptionBatch]]:
    """The subscriptions of each zone that has some."""
    for some in zone_map.iterate_members(batch.regions, batch.subscription_rows, len(batch.ids)):
        yield some.zone, batch.take(some.rows).with_replicas(some.is_copy)


def encode_zone_map(zone_map: ZoneMap) -> EncodedFile:
    """The file of a zone map."""
    return encode_arrays(zone_map.to_arrays(), {"kind": _KIND, **zone_map.to_metadata()})


def read_zone_map(file: MappedArrays, space: Space) -> ZoneMap:
    """The zone map in a file, in the space of the version that names it."""
    if file.meta.get("kind") != _KIND:
        raise StoreError(f"{file.sha256} holds {file.meta.get('kind')}, not zones")
    try:
        return ZoneMap.from_arrays(space, file.arrays, file.meta)
    except (KeyError, ValueError, TypeError) as error:
        raise StoreError(f"the zones {file.sha256} cannot be read: {error!r}") from None
