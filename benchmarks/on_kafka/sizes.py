"""Sizes and durations of the benchmark: the published numbers, or smaller ones for a test."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["SHRINK", "Sizes"]

SHRINK = "COVEY_LIVE_SHRINK"  # environment variable: divisor of sizes and times; for tests only


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of subscriptions and events, and durations; the defaults are the published sizes.

    >>> Sizes().divided(100).subscriptions
    10000
    """

    subscriptions: int = 1_000_000
    fewer: tuple[int, ...] = (10_000, 100_000)  # other numbers for which changes are timed
    most: int = 10_000_000  # subscriptions of a large first start
    events_per_s: int = 3_000
    changes_per_s: int = 500
    warm_s: float = 120.0  # from the first notification to a window, in which Java compiles
    window_s: float = 60.0
    before_kill_s: float = 30.0  # under load
    turns: int = 3  # of each pipeline
    windows: int = 5  # of delays, whose 99th percentiles differ by half between turns
    backlog: int = 10_000_000  # events of a drain
    warm_share: float = 1 / 2  # of the backlog, before the timer starts
    changing_s: float = 30.0  # in which costs of changes are recorded
    soak_s: float = 1800.0
    soak_warm_s: float = 300.0
    sample_s: float = 10.0

    def divided(self, by: int) -> Sizes:
        """Return subscriptions, events and times divided by `by`; the rates do not change."""
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
