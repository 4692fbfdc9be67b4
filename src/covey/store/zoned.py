"""Subscriptions spread over zones, and the file that says where the zones are.

A subscription is in a segment of each zone that it meets. The first of them is where it counts, the
others are copies: so it is counted once, and found once by whoever asks all zones.
"""

from __future__ import annotations

from collections.abc import Iterator

from covey.errors import StoreError
from covey.space import Space
from covey.store.arrays import Arrays, Packed, pack
from covey.store.subscriptions import Owned
from covey.zones import Zoning

__all__ = ["pack_zoning", "read_zoning", "spread"]

_KIND = "zoning"


def spread(owned: Owned, zoning: Zoning) -> Iterator[tuple[int, Owned]]:
    """The subscriptions of each zone that has some."""
    for some in zoning.spread(owned.regions, owned.of, len(owned.ids)):
        yield some.zone, owned.take(some.rows).as_copies(some.copies)


def pack_zoning(zoning: Zoning) -> Packed:
    """The file of a zoning."""
    return pack(zoning.arrays(), {"kind": _KIND, **zoning.meta()})


def read_zoning(file: Arrays, space: Space) -> Zoning:
    """The zoning in a file, in the space of the version that names it."""
    if file.meta.get("kind") != _KIND:
        raise StoreError(f"{file.sha256} holds {file.meta.get('kind')}, not zones")
    try:
        return Zoning.from_arrays(space, file.arrays, file.meta)
    except (KeyError, ValueError, TypeError) as error:
        raise StoreError(f"the zones {file.sha256} cannot be read: {error!r}") from None
