"""SMART: of subscriptions that another one covers a zone keeps no copies.

One that is covered is at its home only, the first zone that it meets. An event of another zone that
it contains is in a region there that covers it: with that stands which homes the event goes on to.
So a zone has three kinds: what it keeps, of which some sends events on, and what is at home here,
which events of other zones are matched with too. (papers: can)

All zones find the same ones covered without asking each other: whatever covers a region meets every
zone that it meets. That holds for one region without a ball, for the sides of balls are not exact;
subscriptions of several regions, and with balls, are kept everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.compact.boxes import Boxes
from covey.compact.covering import Covered, equal_rows
from covey.compact.workers import Here
from covey.geometry import Regions
from covey.geometry.balls import Balls
from covey.index import Pairs
from covey.space.ragged import Ragged
from covey.store.store import Prepared, Store
from covey.store.subscriptions import Owned
from covey.zones import EVERYWHERE, InZone

__all__ = ["Homes", "prepare_zone"]

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Homes:
    """What a zone keeps, to which zones the events of each go on, and what is at home here."""

    kept: Owned
    onwards: Ragged
    at_home: Owned

    @classmethod
    def of(cls, owned: Owned, some: InZone) -> Homes:
        """From all that meets the zone: row i of `owned` is row i of `some`.

        Equal ones are told apart by their order, which must be that of all zones.
        """
        by = _covered_by(owned)
        is_covered = by != np.arange(len(by))
        is_gone = is_covered & some.copies
        is_home = is_covered & some.is_elsewhere & ~some.copies
        kept = np.flatnonzero(~is_gone & ~is_home)
        number = np.full(len(by), -1, np.int64)
        number[kept] = np.arange(len(kept))
        # What nothing covers is kept: it is neither gone nor at home.
        sent = Pairs.of(number[by[is_gone]], some.first[is_gone]).once()
        lengths = np.bincount(sent.asked, minlength=len(kept))
        onwards = Ragged.from_lengths(lengths, sent.stored.astype(np.int32))
        return cls(owned.take(kept), onwards, owned.take(np.flatnonzero(is_home)))


def prepare_zone(store: Store, owned: Owned, some: InZone, is_smart: bool) -> list[Prepared]:
    """Writes the segments of one zone, of all that meets it: row i of both is the same."""
    owned = owned.as_copies(some.copies)
    if not is_smart or some.zone == EVERYWHERE:
        return [store.prepare_zone(some.zone, owned)]
    homes = Homes.of(owned, some)
    onwards = homes.onwards if len(homes.onwards.values) else None
    written = []
    if len(homes.kept.ids):
        written.append(store.prepare_zone(some.zone, homes.kept, onwards))
    if len(homes.at_home.ids):
        written.append(store.prepare_zone(some.zone, homes.at_home, is_home=True))
    return written


def _covered_by(owned: Owned) -> Rows:
    """For each subscription one that covers it and that nothing covers: itself, if it is that."""
    by, counts = np.arange(len(owned.ids)), np.bincount(owned.of, minlength=len(owned.ids))
    chosen = np.flatnonzero((counts[owned.of] == 1) & ~_has_ball(owned.regions))
    chosen = chosen[np.argsort(owned.of[chosen], kind="stable")]
    regions, of = owned.regions.take(chosen), owned.of[chosen]
    if len(of):
        equal = equal_rows(Boxes.of(regions))
        by[of] = of[Covered.of(regions, equal, Here().covers).by]
    return by


def _has_ball(regions: Regions) -> Bools:
    has = np.zeros(len(regions), np.bool_)
    for given in regions.constraints.values():
        if isinstance(given.batch, Balls):
            has[given.rows] = True
    return has
