"""What a batch of changes makes of the parts of a version, without reading or writing a file."""

from __future__ import annotations

from collections.abc import Sequence

from covey.store.ids import Ids
from covey.store.parts import Part
from covey.store.subscriptions import Owned
from covey.store.tiers import Tiers

__all__ = ["after"]


def after(
    parts: Sequence[Part], added: Owned | None, removed: Ids, tiers: Tiers
) -> tuple[list[Part], Owned | None]:
    """The parts that stay, with new tombstones, and what becomes a new segment (None if nothing).

    The last part, while it is small and of no zone, is rewritten together with what is added, so
    that batches do not become a segment each. What is not touched is the same object as before.

    Cost: a binary search in every part per id, a copy of the tombstones of every part reached.
    """
    changed = removed if added is None else Ids.concat([added.ids, removed])
    kept = [part.without(changed) for part in parts]
    kept = [part for part in kept if part.live_count or part.rests]
    last = kept[-1] if kept and kept[-1].zone is None else None
    if added is not None and last is not None and tiers.has_room(last.size, len(added.regions)):
        added = Owned.concat([kept.pop().live(), added])
    return kept, added
