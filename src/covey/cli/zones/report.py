"""Zones of a saved model, read without Spark."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from covey.cli.io.sources import TableSource
from covey.cli.session import SessionLauncher
from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.language import render
from covey.spark import MatcherModel
from covey.spark.model_io import read_model_state
from covey.store import Store
from covey.zones import EVERYWHERE, ZoneMap
from covey.zones.zone_regions import build_zone_regions

__all__ = ["ZoneReport", "with_event_load"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ZoneReport:
    """Bounds, load, subscriptions and memory of each zone of a model.

    `broadcast_subscriptions` and `unzoned_subscriptions` are stored in every zone besides its own
    subscriptions; `size_bytes` includes them.
    """

    zone_map: ZoneMap
    zone_regions: Regions
    load_shares: Floats
    subscriptions_by_zone: Ints
    size_bytes: Ints
    subscriptions: int
    broadcast_subscriptions: int
    unzoned_subscriptions: int

    @classmethod
    def from_model_path(cls, path: str) -> ZoneReport:
        """Read the zones of the model at a path."""
        fitted = read_model_state(path)
        store = Store.open(fitted.location)
        zoning = store.zone_map(fitted.version)
        if zoning is None:
            raise InvalidArgumentError(
                f"the model at {path} has no zones: it is one segment, which every worker maps; "
                "Matcher(zones=…) spreads it"
            )
        version = store.manifest(fitted.version)
        held, sizes = Counter[int | None](), Counter[int | None]()
        for entry in version.segments:
            held[entry.zone] += entry.subscriptions - entry.dead
            sizes[entry.zone] += entry.size_bytes
        beside = sizes[EVERYWHERE] + sizes[None]
        zones = range(len(zoning))
        return cls(
            zoning,
            build_zone_regions(zoning.tree, version.space),
            zoning.zone_work,
            np.array([held[zone] for zone in zones]),
            np.array([sizes[zone] + beside for zone in zones]),
            version.subscriptions,
            held[EVERYWHERE],
            held[None],
        )

    def __len__(self) -> int:
        return len(self.zone_map)

    @property
    def replication_factor(self) -> float:
        """Mean number of zones in which a subscription is stored."""
        stored = (
            int(self.subscriptions_by_zone.sum())
            + self.broadcast_subscriptions
            + self.unzoned_subscriptions
        )
        return stored / max(1, self.subscriptions)

    @property
    def partitions_per_zone(self) -> Ints:
        """Number of partitions that share the events of each zone."""
        return self.zone_map.partitions_per_zone

    @property
    def split_attributes(self) -> list[str]:
        """Attributes by which zones are split, the most frequent first."""
        counts = Counter(cut.attribute for cut in self.zone_map.tree.splits)
        return [name for name, _ in counts.most_common()]

    def describe_zone(self, zone: int) -> str:
        """Return a predicate that every event of a zone satisfies."""
        return render(self.zone_regions, zone)

    def select_attributes(self, requested: str | None) -> tuple[str, ...]:
        """Return the attributes to draw: the requested ones, or the first two with an order."""
        drawn = [
            name for name in self.split_attributes if self.zone_regions.space[name].type.is_scalar
        ]
        if requested is None:
            return tuple(drawn[:2])
        names = tuple(name.strip() for name in requested.split(","))
        if not 1 <= len(names) <= 2 or (set(names) - set(drawn)):
            raise InvalidArgumentError(
                f"--attributes must be one or two of {', '.join(drawn) or 'none'}, by which zones "
                f"are split, got {requested!r}"
            )
        return names


def with_event_load(
    report: ZoneReport, model_path: str, source: TableSource, launcher: SessionLauncher
) -> ZoneReport:
    """Return the report with the load of other events."""
    with launcher.launch() as spark:
        return replace(
            report, load_shares=MatcherModel.load(model_path).zoneLoad(source.read(spark))
        )
