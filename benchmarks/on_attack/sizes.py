"""Sizes of the benchmark: the published numbers, or smaller ones for a test."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["SHRINK", "Sizes"]

SHRINK = "COVEY_ATTACK_SHRINK"  # environment variable: divisor of all sizes; for tests only


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of subscriptions, expressions and events; the defaults are the published sizes."""

    normal: int = 1_000  # subscriptions whose results must not change
    hostile: int = 1_000  # largest number of hostile subscriptions
    together: int = 10  # hostile subscriptions of a group
    expressions: int = 20_000
    at_once: int = 200  # expressions in one fit
    events: int = 120

    def divided(self, by: int) -> Sizes:
        """Return sizes divided by `by`, but not below a minimum; groups keep their size."""
        if by == 1:
            return self
        return replace(
            self, normal=max(20, self.normal // by), hostile=max(5, self.hostile // by),
            expressions=max(20, self.expressions // by), at_once=max(20, self.at_once // by),
        )  # fmt: skip
