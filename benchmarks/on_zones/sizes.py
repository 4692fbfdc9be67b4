"""How many of everything is measured: the published numbers, or less of all for a test."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["SHRINK", "Sizes"]

SHRINK = "COVEY_ZONES_SHRINK"  # by how much numbers are divided; for tests only


@dataclass(frozen=True, slots=True)
class Sizes:
    """The names of results speak of the published numbers."""

    stored: int = 10_000_000
    events: int = 2_000_000
    zones: int = 16
    worker_mb: int = 2_300  # of addresses, of which a worker without any index has 1,600
    smart_stored: int = 200_000
    smart_events: int = 100_000
    skewed: int = 1_000_000
    skewed_events: int = 400_000
    skewed_zones: int = 64
    spread: int = 1_000_000  # of which replicas are counted
    balls: int = 100_000
    spread_zones: int = 64
    per_zone: int = 100_000
    growing: tuple[int, ...] = (1, 4, 16, 64)
    growing_events: int = 100_000  # for each zone
    sampled: int = 20_000  # events and regions that zones are cut from

    def divided(self, by: int) -> Sizes:
        """So much less of everything but zones and what a worker may have."""
        if by == 1:
            return self
        names = ("stored", "events", "skewed", "skewed_events", "spread", "balls", "per_zone",
                 "growing_events", "sampled", "smart_stored", "smart_events")  # fmt: skip
        return replace(self, **{name: max(500, getattr(self, name) // by) for name in names})
