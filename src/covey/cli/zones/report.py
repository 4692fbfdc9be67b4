"""Report on the zones of a saved model, which is read without Spark."""

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

    Args:
        zone_map: the zone map of the model.
        zone_regions: the region of each zone.
        load_shares: the share of the whole load that each zone has.
        subscriptions_by_zone: number of subscriptions that are stored in each zone, without
            broadcast and unzoned ones.
        size_bytes: memory of each zone, including broadcast and unzoned subscriptions.
        subscriptions: number of subscriptions of the model.
        broadcast_subscriptions: number of subscriptions in the broadcast segment.
        unzoned_subscriptions: number of subscriptions that are not divided into zones yet.
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
        """Read the zones of the model at a path; their load is that of the events of the fit.

        Raises:
            InvalidArgumentError: the model has no zones.
            StoreError: there is no model at the path.
        """
        fitted = read_model_state(path)
        store = Store.open(fitted.location)
        zoning = store.zone_map(fitted.version)
        if zoning is None:
            raise InvalidArgumentError(
                f"the model at {path} has no zones: fit it with Matcher(zones=N), where N is the "
                "number of zones"
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
        """Mean number of places in which a subscription is stored.

        A place is a zone, the broadcast segment, or the segments without a zone.
        """
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
        """Return the attributes to draw: the requested ones, or those that split zones most often.

        At most two attributes are drawn.

        Only scalar attributes can be drawn.

        Args:
            requested: one or two names, separated by a comma; None to choose.

        Raises:
            InvalidArgumentError: more than two attributes are requested, zones are not split by one
                of them, or it is not scalar.
        """
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
    """Return the report with the load that the events of `source` cause, measured with Spark."""
    with launcher.launch() as spark:
        return replace(
            report, load_shares=MatcherModel.load(model_path).zoneLoad(source.read(spark))
        )
