"""Which segments to merge, so that there are few and a change is rewritten seldom.

Sizes are cut into levels, each `factor` times the one below. A level holds one segment; when it has
two, they are merged, and with them all that is smaller. So n subscriptions are in about
log(n / smallest) / log(factor) segments, and each change is rewritten about factor / 2 times per
level, however many subscriptions there are. A segment of which too much is dead is rewritten too.

Everything here is a pure function of sizes; `covey.store.merge` does the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from covey.errors import ValueRefused

__all__ = ["Size", "Tiers"]


@dataclass(frozen=True, slots=True)
class Size:
    """A segment's regions, and which share of its subscriptions is dead."""

    regions: int
    dead_share: float = 0.0

    @property
    def live(self) -> int:
        return round(self.regions * (1 - self.dead_share))


@dataclass(frozen=True, slots=True)
class Tiers:
    """When to merge. The last segment is the writer's own while it is small: see `has_room`.

    `smallest` bounds what is rewritten with every batch of changes; a higher `factor` means fewer
    segments to ask and more rewriting.

    >>> Tiers(smallest=10, factor=8).plan([Size(700), Size(9), Size(10), Size(4)])
    (1, 2)
    >>> Tiers(smallest=10, factor=8).plan([Size(70), Size(75), Size(10), Size(4)])
    (0, 1, 2)
    """

    smallest: int = 8192
    factor: int = 8
    dead_share: float = 0.25

    def __post_init__(self) -> None:
        if not (self.smallest >= 1 and self.factor >= 2 and 0 < self.dead_share <= 1):
            raise ValueRefused(f"no tiers: {self}: smallest ≥ 1, factor ≥ 2, 0 < dead_share ≤ 1")

    def level(self, regions: int) -> int:
        """The level of a segment of so many regions."""
        level, most = 0, self.smallest
        while regions > most:
            level, most = level + 1, most * self.factor
        return level

    def has_room(self, last: Size, more: int) -> bool:
        """Whether the last segment is to be rewritten together with so many new regions."""
        return last.live + more <= self.smallest

    def plan(self, sizes: Sequence[Size]) -> tuple[int, ...]:
        """Which segments to merge into one, ascending; none if all is well.

        The cheapest merge is proposed first. Merging until nothing is proposed ends.
        """
        settled = len(sizes) - 1 if sizes and self.has_room(sizes[-1], 0) else len(sizes)
        plans = [self._with_smaller([i], sizes[:settled]) for i in range(settled)
                 if sizes[i].dead_share > self.dead_share]  # fmt: skip
        by_level: dict[int, list[int]] = {}
        for i in range(settled):
            by_level.setdefault(self.level(sizes[i].live), []).append(i)
        for together in by_level.values():
            if len(together) > 1:
                plans.append(self._with_smaller(together, sizes[:settled]))
        return min(plans, key=lambda plan: sum(sizes[i].live for i in plan), default=())

    def _with_smaller(self, first: list[int], sizes: Sequence[Size]) -> tuple[int, ...]:
        """These and all that is not on a higher level than what they will be together."""
        chosen = set(first)
        while True:
            level = self.level(sum(sizes[i].live for i in chosen))
            grown = chosen | {i for i, s in enumerate(sizes) if self.level(s.live) <= level}
            if grown == chosen:
                return tuple(sorted(chosen))
            chosen = grown
