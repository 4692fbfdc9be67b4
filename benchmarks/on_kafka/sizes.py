"""How much and how long is measured: the published numbers, or less of everything for a test."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["SHRINK", "Sizes"]

SHRINK = "COVEY_LIVE_SHRINK"  # by how much numbers and times are divided; for tests only


@dataclass(frozen=True, slots=True)
class Sizes:
    """The names of results speak of the published numbers.

    >>> Sizes().divided(100).subscriptions
    10000
    """

    subscriptions: int = 1_000_000
    fewer: tuple[int, ...] = (10_000, 100_000)  # and at how many more changes are timed
    most: int = 10_000_000  # that a first start reads
    events_per_s: int = 3_000
    changes_per_s: int = 500
    warm_s: float = 120.0  # from the first notification to a window: Java compiles until then
    window_s: float = 60.0
    before_kill_s: float = 30.0  # of load
    turns: int = 3  # of each pipeline
    windows: int = 5  # of delays: their 99th percentiles differ by half from turn to turn
    backlog: int = 10_000_000  # events that wait for a drain
    warm_share: float = 1 / 2  # of the backlog, before the timer starts
    changing_s: float = 30.0  # for which costs of changes are collected
    soak_s: float = 1800.0
    soak_warm_s: float = 300.0
    sample_s: float = 10.0

    def divided(self, by: int) -> Sizes:
        """So much less: subscriptions, events and seconds; the load stays what it is."""
        if by == 1:
            return self
        return replace(
            self,
            subscriptions=max(1_000, self.subscriptions // by),
            fewer=tuple(max(1_000, count // by) for count in self.fewer),
            most=max(10_000, self.most // by),
            warm_s=max(5.0, self.warm_s / by),
            before_kill_s=max(5.0, self.before_kill_s / by),
            window_s=max(5.0, self.window_s / by),
            turns=1,
            windows=1,
            backlog=max(30_000, self.backlog // by),
            changing_s=max(5.0, self.changing_s / by),
            soak_s=max(15.0, self.soak_s / by),
            soak_warm_s=max(3.0, self.soak_warm_s / by),
            sample_s=max(1.0, self.sample_s / by),
        )
