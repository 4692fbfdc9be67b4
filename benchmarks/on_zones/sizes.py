"""Sizes of the benchmark: the published numbers, or smaller ones for a test."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["SHRINK", "Sizes"]

SHRINK = "COVEY_ZONES_SHRINK"  # environment variable: divisor of all sizes; for tests only


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of subscriptions, events and zones; the defaults are the published sizes."""

    stored: int = 10_000_000
    events: int = 2_000_000
    zones: int = 16
    worker_mb: int = 2_300  # address space; a worker without an index uses 1,600
    smart_stored: int = 200_000
    smart_events: int = 100_000
    skewed: int = 1_000_000
    skewed_events: int = 400_000
    skewed_zones: int = 64
    spread: int = 1_000_000  # boxes whose replicas are counted
    balls: int = 100_000
    spread_zones: int = 64
    per_zone: int = 100_000
    growing: tuple[int, ...] = (1, 4, 16, 64)
    growing_events: int = 100_000  # per zone
    sampled: int = 20_000  # events and regions from which zones are built

    def divided(self, by: int) -> Sizes:
        """Return sizes divided by `by`; zones and the memory of workers do not change."""
        if by == 1:
            return self
        names = ("stored", "events", "skewed", "skewed_events", "spread", "balls", "per_zone",
                 "growing_events", "sampled", "smart_stored", "smart_events")  # fmt: skip
        return replace(self, **{name: max(500, getattr(self, name) // by) for name in names})
