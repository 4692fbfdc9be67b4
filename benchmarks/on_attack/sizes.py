"""How many of everything is tried: the published numbers, or less of all for a test."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["SHRINK", "Sizes"]

SHRINK = "COVEY_ATTACK_SHRINK"  # by how much numbers are divided; for tests only


@dataclass(frozen=True, slots=True)
class Sizes:
    """The names of results speak of the published numbers."""

    normal: int = 1_000  # subscriptions that are not to be disturbed
    hostile: int = 1_000  # at most, of those that there are
    together: int = 10  # hostile ones at once, where they are not tried alone
    expressions: int = 20_000
    at_once: int = 200  # expressions in one fit
    events: int = 120

    def divided(self, by: int) -> Sizes:
        """So much less of everything but what is done at once."""
        if by == 1:
            return self
        return replace(
            self, normal=max(20, self.normal // by), hostile=max(5, self.hostile // by),
            expressions=max(20, self.expressions // by), at_once=max(20, self.at_once // by),
        )  # fmt: skip
