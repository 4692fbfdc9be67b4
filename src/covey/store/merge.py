"""Merging parts into one while changes go on.

A merge is claimed, built, and finished. Between claim and finish the version may have changed: what
died meanwhile becomes tombstones of the merged segment, and nothing has to wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from covey.store.ended import Horizons, without_ended
from covey.store.ids import Ids
from covey.store.parts import Part
from covey.store.subscriptions import Owned, Subscriptions

__all__ = ["Merge", "finished", "merged"]


@dataclass(frozen=True, slots=True)
class Merge:
    """Parts that are to become one, as they were when the merge was claimed.

    Regions that end before one of the `horizons` are left out.
    """

    parts: tuple[Part, ...]
    horizons: Horizons = field(default_factory=dict)

    @property
    def files(self) -> set[str]:
        return {part.file for part in self.parts}


def merged(merge: Merge) -> Subscriptions | None:
    """The subscriptions of all parts that count and have not ended, in one index; None if none.

    Cost: that of `Subscriptions.build`; about three copies of the regions in memory.
    """
    parts = (part.live() for part in merge.parts if part.live_count)
    live = [left for part in parts if len((left := without_ended(part, merge.horizons)).ids)]
    return Subscriptions.build(Owned.concat(live)) if live else None


def finished(merge: Merge, now: Sequence[Part], result: Part | None) -> list[Part]:
    """The parts of a version, now that a merge is done: its inputs gave way to its result.

    An input that is no longer there died as a whole.
    """
    places = [i for i, part in enumerate(now) if part.file in merge.files]
    kept = [part for part in now if part.file not in merge.files]
    if result is None:
        return kept
    result = result.without(_died(merge, now))
    if result.live_count:
        kept.insert(places[0] if places else 0, result)
    return kept


def _died(merge: Merge, now: Sequence[Part]) -> Ids:
    """The ids that counted when a merge was claimed and do not count in its inputs now."""
    current = {part.file: part.tombstones for part in now}
    died = []
    for part in merge.parts:
        stones = current.get(part.file)
        gone = part.tombstones.live_rows if stones is None else stones.since(part.tombstones)
        died.append(part.subscriptions.ids.take(gone))
    return Ids.concat(died)
