"""What a saved model says of its zones, without Spark."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.errors import ValueRefused
from covey.geometry import Regions
from covey.language import render
from covey.spark.persist import fitted_at
from covey.store import Store
from covey.zones import EVERYWHERE, Zoning
from covey.zones.extents import extents

__all__ = ["Found"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Found:
    """The zones of a model: for each its share of the work, and what it has.

    `everywhere` and `recent` are subscriptions that every zone has besides; `size_bytes` of a zone
    is with them.
    """

    zoning: Zoning
    extents: Regions
    work: Floats
    held: Ints
    size_bytes: Ints
    subscriptions: int
    everywhere: int
    recent: int

    @classmethod
    def at(cls, path: str) -> Found:
        """Of the model at a path."""
        fitted = fitted_at(path)
        store = Store.open(fitted.place)
        zoning = store.zoning(fitted.version)
        if zoning is None:
            raise ValueRefused(
                f"the model at {path} has no zones: it is one segment, which every worker maps; "
                "Matcher(zones=…) spreads it"
            )
        version = store.version(fitted.version)
        held, sizes = Counter[int | None](), Counter[int | None]()
        for entry in version.segments:
            held[entry.zone] += entry.subscriptions - entry.dead
            sizes[entry.zone] += entry.size_bytes
        beside = sizes[EVERYWHERE] + sizes[None]
        zones = range(len(zoning))
        return cls(
            zoning,
            extents(zoning.tree, version.space),
            zoning.work,
            np.array([held[zone] for zone in zones]),
            np.array([sizes[zone] + beside for zone in zones]),
            version.subscriptions,
            held[EVERYWHERE],
            held[None],
        )

    def __len__(self) -> int:
        return len(self.zoning)

    @property
    def replication(self) -> float:
        """How often a subscription is stored, in the mean."""
        stored = int(self.held.sum()) + self.everywhere + self.recent
        return stored / max(1, self.subscriptions)

    @property
    def owners(self) -> Ints:
        """How many partitions share the events of each zone."""
        return self.zoning.owners

    @property
    def attributes(self) -> list[str]:
        """What zones are cut by, most often first."""
        counts = Counter(cut.attribute for cut in self.zoning.tree.cuts)
        return [name for name, _ in counts.most_common()]

    def where(self, zone: int) -> str:
        """What every event of a zone satisfies."""
        return render(self.extents, zone)

    def chosen(self, given: str | None) -> tuple[str, ...]:
        """The attributes to draw: those that are given, or the first two that have an order."""
        drawn = [name for name in self.attributes if self.extents.space[name].type.is_scalar]
        if given is None:
            return tuple(drawn[:2])
        names = tuple(name.strip() for name in given.split(","))
        if not 1 <= len(names) <= 2 or (set(names) - set(drawn)):
            raise ValueRefused(
                f"--attributes are one or two of {', '.join(drawn) or 'none'}, by which zones are "
                f"cut, not {given!r}"
            )
        return names
