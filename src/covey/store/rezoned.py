"""A zone that is built anew from those before it that have all that it meets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.store.ids import Ids
from covey.store.parts import Part
from covey.store.subscriptions import Owned
from covey.zones import Rebalanced

__all__ = ["of_new_zone"]

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]


def of_new_zone(to: Rebalanced, zone: int, parts: list[Part]) -> Owned | None:
    """The subscriptions of a zone that changed, from the parts of its sources; None if none.

    One that counted in a source counts in one of the zones that come of it: the first it meets.
    """
    owned = _once([part.live() for part in parts if part.live_count])
    if owned is None:
        return None
    met = to.zoning.tree.meeting(owned.regions)
    placed = np.zeros((len(owned.ids), len(to.sources)), np.bool_)
    placed[owned.of[met.asked], met.stored] = True
    without = np.bincount(owned.of, minlength=len(owned.ids)) == 0
    of_it = [z for z, sources in enumerate(to.sources) if set(sources) & set(to.sources[zone])]
    placed[without, of_it[0]] = True  # as long as it has no region, it is somewhere
    first = np.array(of_it)[placed[:, of_it].argmax(axis=1)]
    rows = np.flatnonzero(placed[:, zone])
    if not len(rows):
        return None
    return owned.take(rows).as_copies(first[rows] != zone)


def _once(parts: list[Owned]) -> Owned | None:
    """All subscriptions of some parts, each once: a copy only if it is one in all of them."""
    if not parts:
        return None
    owned = Owned.concat(parts)
    order = np.lexsort((owned.is_copy, _numbers(owned.ids)))
    numbers = _numbers(owned.ids)[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = numbers[1:] != numbers[:-1]
    return owned.take(np.sort(order[is_first]))


def _numbers(ids: Ids) -> Rows:
    """A number for each id, the same for the same."""
    if ids.texts is None:
        return ids.keys
    return np.asarray(ids.texts.dictionary_encode().indices, np.int64)
