"""Merge policy: which segments to merge, so that they are few and changes are rewritten rarely.

Segment sizes are divided into levels; the largest size of a level is `level_factor` times that of
the level below. If a level has two or more segments, they are merged, together with all segments
that are not on a higher level than the result. So n regions are in about
log(n / min_level_regions) / log(level_factor) segments, and each change is rewritten about
level_factor / 2 times per level, independently of the number of subscriptions. A segment with a
large share of dead rows is rewritten as well.

The policy is a pure function of sizes; `covey.store.merge.operation` does the merges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from covey._argument_checks import check_fields
from covey.errors import InvalidArgumentError

__all__ = ["SegmentSize", "TieredMergePolicy"]


@dataclass(frozen=True, slots=True)
class SegmentSize:
    """Size of a segment: its number of regions, and the share of dead subscriptions."""

    regions: int
    dead_share: float = 0.0

    @property
    def live_regions(self) -> int:
        """Estimated number of regions of live subscriptions."""
        return round(self.regions * (1 - self.dead_share))


@dataclass(frozen=True, slots=True)
class TieredMergePolicy:
    """Merge policy with levels of segment sizes.

    The last segment is not merged while it is small, because each batch of changes rewrites it; see
    `should_rewrite_last`.

    Args:
        min_level_regions: number of regions up to which a segment is on level 0, at least 1. It
            bounds the work of rewriting the last segment with each batch.
        level_factor: ratio of the sizes of two neighbouring levels, at least 2. A higher factor
            means fewer segments to query and more rewriting.
        max_dead_share: share of dead rows, more than 0 and at most 1, beyond which a segment is
            rewritten.

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
                "a merge policy needs min_level_regions ≥ 1, level_factor ≥ 2 and "
                f"0 < max_dead_share ≤ 1, got {self}"
            )

    def level_of(self, regions: int) -> int:
        """Return the level, from 0, of a segment with this number of live regions."""
        level, max_regions = 0, self.min_level_regions
        while regions > max_regions:
            level, max_regions = level + 1, max_regions * self.level_factor
        return level

    def should_rewrite_last(self, last: SegmentSize, added_regions: int) -> bool:
        """Return whether the last segment should be rewritten together with the added regions.

        This is true if its live regions and the added ones are at most `min_level_regions`.
        """
        return last.live_regions + added_regions <= self.min_level_regions

    def find_merge(self, sizes: Sequence[SegmentSize]) -> tuple[int, ...]:
        """Return the positions of the segments to merge into one, ascending.

        The result is empty if no merge is due. If several merges are due, the one with the fewest
        live regions is returned. Merging until no merge is due always ends.

        Args:
            sizes: the sizes of all segments, in the order of the segments in the version.
        """
        settled_count = (
            len(sizes) - 1 if sizes and self.should_rewrite_last(sizes[-1], 0) else len(sizes)
        )
        candidates = [
            self._extend_to_lower_levels([i], sizes[:settled_count])
            for i in range(settled_count)
            if sizes[i].dead_share > self.max_dead_share
        ]
        by_level: dict[int, list[int]] = {}
        for i in range(settled_count):
            by_level.setdefault(self.level_of(sizes[i].live_regions), []).append(i)
        for level_rows in by_level.values():
            if len(level_rows) > 1:
                candidates.append(self._extend_to_lower_levels(level_rows, sizes[:settled_count]))
        return min(
            candidates,
            key=lambda candidate: sum(sizes[i].live_regions for i in candidate),
            default=(),
        )

    def _extend_to_lower_levels(
        self, initial: list[int], sizes: Sequence[SegmentSize]
    ) -> tuple[int, ...]:
        """Return `initial` and all other segments that are not on a higher level than the result.

        The result is the segment into which the returned segments will be merged. The returned
        positions are ascending.
        """
        chosen = set(initial)
        while True:
            level = self.level_of(sum(sizes[i].live_regions for i in chosen))
            grown = chosen | {
                i for i, size in enumerate(sizes) if self.level_of(size.live_regions) <= level
            }
            if grown == chosen:
                return tuple(sorted(chosen))
            chosen = grown
