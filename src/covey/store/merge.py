"""Merging parts into one while changes go on, or spreading them over zones.

A merge is claimed, built, and finished. Between claim and finish the version may have changed: what
died meanwhile becomes tombstones of the merged segment, and nothing has to wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from covey.store.ended import Horizons, without_ended
from covey.store.files import Files
from covey.store.ids import Ids
from covey.store.parts import Part
from covey.store.subscriptions import Owned, Subscriptions
from covey.store.zoned import spread
from covey.zones import Zoning

__all__ = ["Merge", "Placed", "finished", "merged", "written"]


@dataclass(frozen=True, slots=True)
class Merge:
    """Parts of one zone that are to become one, as they were when the merge was claimed.

    Regions that end before one of the `horizons` are left out. With a `zoning`, what they have
    becomes a part of each zone instead.
    """

    parts: tuple[Part, ...]
    horizons: Horizons = field(default_factory=dict)
    zoning: Zoning | None = None

    @property
    def files(self) -> set[str]:
        return {part.file for part in self.parts}


@dataclass(frozen=True, slots=True)
class Placed:
    """A segment that a merge made, which the store has: of which zone it is, if of one."""

    zone: int | None
    file: str
    size_bytes: int


def merged(merge: Merge) -> Iterator[tuple[int | None, Subscriptions]]:
    """The subscriptions of all parts that count and have not ended, in one index; none if none.

    Cost: that of `Subscriptions.build`; about three copies of the regions in memory.
    """
    parts = (part.live() for part in merge.parts if part.live_count)
    live = [left for part in parts if len((left := without_ended(part, merge.horizons)).ids)]
    if not live:
        return
    owned = Owned.concat(live)
    if merge.zoning is None:
        yield merge.parts[0].zone, Subscriptions.build(owned)
        return
    for zone, some in spread(owned, merge.zoning):
        yield zone, Subscriptions.build(some)


def written(merge: Merge, files: Files) -> list[Placed]:
    """What a merge makes, in the files of a store; nothing if nothing was left."""
    placed = []
    for zone, subscriptions in merged(merge):
        packed = subscriptions.pack()
        files.put(packed)
        placed.append(Placed(zone, packed.sha256, packed.size_bytes))
    return placed


def finished(merge: Merge, now: Sequence[Part], results: Sequence[Part]) -> list[Part]:
    """The parts of a version, now that a merge is done: its inputs gave way to its results.

    An input that is no longer there died as a whole. What became a zone's is before what is not.
    """
    places = [i for i, part in enumerate(now) if part.file in merge.files]
    kept = [part for part in now if part.file not in merge.files]
    place = places[0] if places and merge.zoning is None else 0
    died = _died(merge, now)
    left = [result.without(died) for result in results]
    return [*kept[:place], *(part for part in left if part.live_count), *kept[place:]]


def _died(merge: Merge, now: Sequence[Part]) -> Ids:
    """The ids that counted when a merge was claimed and do not count in its inputs now."""
    current = {part.file: part.tombstones for part in now}
    died = []
    for part in merge.parts:
        stones = current.get(part.file)
        gone = part.tombstones.live_rows if stones is None else stones.since(part.tombstones)
        died.append(part.subscriptions.ids.take(gone))
    return Ids.concat(died)
