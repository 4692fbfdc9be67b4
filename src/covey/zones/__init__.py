"""Zones: parts of a space, each to be owned by one place that has what its events can match."""

from covey.zones.balance import Rebalanced, rebalanced
from covey.zones.cutting import Sample, cut_zones
from covey.zones.tree import ZoneTree
from covey.zones.zoning import EVERYWHERE, InZone, Zoning

__all__ = [
    "EVERYWHERE",
    "InZone",
    "Rebalanced",
    "Sample",
    "ZoneTree",
    "Zoning",
    "cut_zones",
    "rebalanced",
]
