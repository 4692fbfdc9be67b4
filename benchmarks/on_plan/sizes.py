"""Sizes of the benchmark: the published numbers, or smaller ones for a test."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["SHRINK", "Sizes"]

SHRINK = "COVEY_PLAN_SHRINK"  # environment variable: divisor of all sizes; for tests only


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of subscribers, brokers and events; the defaults are the published sizes."""

    subscribers: int = 100_000
    brokers: int = 100
    seeds: int = 5
    steps: int | None = None  # of a search; None for its default
    programs_s: int = 300  # time limit for the linear programs of one set
    large: int = 1_000_000
    large_brokers: int = 200  # on several levels
    degree: int = 15
    periods: int = 50
    period_steps: int = 300
    tables: tuple[int, ...] = (100_000, 1_000_000, 10_000_000)
    deployed: int = 10_000  # subscribers of a plan on Kafka
    events: int = 1_000_000  # of the sample of that plan; as many others are published

    def divided(self, by: int) -> Sizes:
        """Return sizes divided by `by`, but not below a minimum."""
        if by == 1:
            return self
        return replace(
            self, subscribers=max(500, self.subscribers // by), brokers=20, seeds=1,
            steps=max(20, 4_000 // by), programs_s=1, large=max(1_000, self.large // by),
            large_brokers=40, periods=2, period_steps=20,
            tables=tuple(max(500, table // by) for table in self.tables),
            deployed=max(500, self.deployed // by), events=max(5_000, self.events // by),
        )  # fmt: skip
