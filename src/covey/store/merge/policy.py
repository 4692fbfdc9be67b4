"""Which segments to merge, so that there are few and a change is rewritten seldom.

Sizes are cut into levels, each `level_factor` times the one below. A level holds one segment; when
it has two, they are merged, and with them all that is smaller. So n subscriptions are in about
log(n / min_level_regions) / log(level_factor) segments, and each change is rewritten about
level_factor / 2 times per level, however many subscriptions there are. A segment of which too much
is dead is rewritten too.

Everything here is a pure function of sizes; `covey.store.merge.operation` does the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from covey._argument_checks import check_fields
from covey.errors import InvalidArgumentError

__all__ = ["SegmentSize", "TieredMergePolicy"]


@dataclass(frozen=True, slots=True)
class SegmentSize:
    """A segment's regions, and which share of its subscriptions is dead."""

    regions: int
    dead_share: float = 0.0

    @property
    def live_regions(self) -> int:
        return round(self.regions * (1 - self.dead_share))


@dataclass(frozen=True, slots=True)
class TieredMergePolicy:
    """When to merge segments, and which.

    The last segment is the writer's own while it is small: see `should_rewrite_last`.

    `min_level_regions` bounds what is rewritten with every batch of changes; a higher
    `level_factor` means fewer segments to ask and more rewriting.

    >>> policy = TieredMergePolicy(min_level_regions=10, level_factor=8)
    >>> policy.find_merge([SegmentSize(regions) for regions in (700, 9, 10, 4)])
    (1, 2)
    >>> policy.find_merge([SegmentSize(regions) for regions in (70, 75, 10, 4)])
    (0, 1, 2)
    """

    min_level_regions: int = 8192
    level_factor: int = 8
    max_dead_share: float = 0.25

    def __post_init__(self) -> None:
        check_fields(self)
        if not (
            self.min_level_regions >= 1 and self.level_factor >= 2 and 0 < self.max_dead_share <= 1
        ):
            raise InvalidArgumentError(
                f"no merge policy: {self}: "
                "min_level_regions ≥ 1, level_factor ≥ 2, 0 < max_dead_share ≤ 1"
            )

    def level_of(self, regions: int) -> int:
        """The level of a segment of so many regions."""
        level, most = 0, self.min_level_regions
        while regions > most:
            level, most = level + 1, most * self.level_factor
        return level

    def should_rewrite_last(self, last: SegmentSize, added_regions: int) -> bool:
        """Whether the last segment is to be rewritten together with so many new regions."""
        return last.live_regions + added_regions <= self.min_level_regions

    def find_merge(self, sizes: Sequence[SegmentSize]) -> tuple[int, ...]:
        """Which segments to merge into one, ascending; none if all is well.

        The cheapest merge is proposed first. Merging until nothing is proposed ends.
        """
        settled = len(sizes) - 1 if sizes and self.should_rewrite_last(sizes[-1], 0) else len(sizes)
        plans = [self._extend_to_lower_levels([i], sizes[:settled]) for i in range(settled)
                 if sizes[i].dead_share > self.max_dead_share]  # fmt: skip
        by_level: dict[int, list[int]] = {}
        for i in range(settled):
            by_level.setdefault(self.level_of(sizes[i].live_regions), []).append(i)
        for together in by_level.values():
            if len(together) > 1:
                plans.append(self._extend_to_lower_levels(together, sizes[:settled]))
        return min(plans, key=lambda plan: sum(sizes[i].live_regions for i in plan), default=())

    def _extend_to_lower_levels(
        self, initial: list[int], sizes: Sequence[SegmentSize]
    ) -> tuple[int, ...]:
        """These and all that is not on a higher level than what they will be together."""
        chosen = set(initial)
        while True:
            level = self.level_of(sum(sizes[i].live_regions for i in chosen))
            grown = chosen | {
                i for i, s in enumerate(sizes) if self.level_of(s.live_regions) <= level
            }
            if grown == chosen:
                return tuple(sorted(chosen))
            chosen = grown
