"""Placement: subscriptions split by zone, and the file of the zone map.

A subscription is in a segment of each zone that it meets. The first of these zones is its home
zone, and in the other zones it is a replica. So it is counted once, and a query of all zones finds
it once.
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
    """Yield each zone number with the subscriptions of the zone; skip zones that have none.

    Subscriptions whose home zone is another zone are marked as replicas.
    """
    for members in zone_map.iterate_members(batch.regions, batch.subscription_rows, len(batch.ids)):
        yield members.zone, batch.take(members.rows).with_replicas(members.is_copy)


def encode_zone_map(zone_map: ZoneMap) -> EncodedFile:
    """Return the file of a zone map."""
    return encode_arrays(zone_map.to_arrays(), {"kind": _KIND, **zone_map.to_metadata()})


def read_zone_map(file: MappedArrays, space: Space) -> ZoneMap:
    """Return the zone map in a file; `space` is the space of the version that names the file.

    Raises:
        StoreError: if the file does not contain a zone map, or it cannot be read.
    """
    if file.meta.get("kind") != _KIND:
        raise StoreError(
            f"file {file.sha256} contains {file.meta.get('kind')}, not a zone map: "
            "create the store again"
        )
    try:
        return ZoneMap.from_arrays(space, file.arrays, file.meta)
    except (KeyError, ValueError, TypeError) as error:
        raise StoreError(
            f"the zone map in file {file.sha256} cannot be read ({error!r}): create the store again"
        ) from None
