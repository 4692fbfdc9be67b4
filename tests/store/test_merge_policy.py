"""The merge policy, on sizes alone."""

from __future__ import annotations

from math import ceil, log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import InvalidArgumentError
from covey.store.merge.policy import SegmentSize, TieredMergePolicy

TIERS = TieredMergePolicy(min_level_regions=10, level_factor=8)
SIZES = st.lists(st.builds(SegmentSize, st.integers(1, 5000), st.floats(0, 0.9)), max_size=12)


@pytest.mark.parametrize(
    ("regions", "level"), [(0, 0), (10, 0), (11, 1), (80, 1), (81, 2), (640, 2), (641, 3)]
)
def test_levels_grow_by_the_factor(regions: int, level: int) -> None:
    assert TIERS.level_of(regions) == level


@pytest.mark.parametrize(
    ("sizes", "plan"),
    [
        ([], ()),
        ([700, 70, 9], ()),  # one segment per level, and the last is rewritten by the writer
        ([700, 70, 10, 9], ()),  # the first segment that fills a level waits for a second
        ([700, 70, 10, 10, 9], (1, 2, 3)),  # 90 regions exceed their level, so the next one joins
        ([700, 40, 10, 10, 9], (1, 2, 3)),
        ([700, 10, 10, 9], (1, 2)),
        ([700, 630, 75, 70, 5], (0, 1, 2, 3)),
        ([4, 700], ()),  # a large batch came last, so the writer rewrites nothing
        ([700, 4, 800], (0, 1, 2)),
    ],
)
def test_a_level_has_one_segment(sizes: list[int], plan: tuple[int, ...]) -> None:
    assert TIERS.find_merge([SegmentSize(size) for size in sizes]) == plan


def test_a_segment_with_a_quarter_dead_rows_is_merged_with_smaller_ones() -> None:
    assert TIERS.find_merge(
        [SegmentSize(5000), SegmentSize(600, 0.3), SegmentSize(50), SegmentSize(5)]
    ) == (1, 2)
    assert (
        TIERS.find_merge(
            [SegmentSize(5000), SegmentSize(600, 0.2), SegmentSize(50), SegmentSize(5)]
        )
        == ()
    )


def test_the_cheapest_merge_comes_first() -> None:
    assert TIERS.find_merge(
        [SegmentSize(5000, 0.5), SegmentSize(10), SegmentSize(10), SegmentSize(5)]
    ) == (1, 2)


def test_only_live_regions_count() -> None:
    assert TIERS.find_merge([SegmentSize(95, 0.2), SegmentSize(90, 0.2), SegmentSize(3)]) == (0, 1)
    assert TIERS.should_rewrite_last(SegmentSize(16, 0.5), 2)
    assert not TIERS.should_rewrite_last(SegmentSize(16, 0.5), 3)


@given(SIZES)
def test_merging_ends_with_one_segment_per_level(sizes: list[SegmentSize]) -> None:
    for _ in range(100):
        plan = TIERS.find_merge(sizes)
        if not plan:
            break
        assert list(plan) == sorted(set(plan))
        merged = SegmentSize(sum(sizes[i].live_regions for i in plan))
        sizes = [size for i, size in enumerate(sizes) if i not in plan]
        sizes.insert(plan[0], merged)
    else:
        pytest.fail("merging does not end")
    settled = sizes[:-1] if sizes and TIERS.should_rewrite_last(sizes[-1], 0) else sizes
    levels = [TIERS.level_of(size.live_regions) for size in settled]
    assert len(levels) == len(set(levels))
    assert all(size.dead_share <= TIERS.max_dead_share for size in settled)


@pytest.mark.parametrize("replaced", [False, True])
def test_changes_are_rewritten_seldom_and_segments_stay_few(replaced: bool) -> None:
    """Batches of 10 change 100,000 subscriptions, with levels 100 times smaller than usual."""
    tiers, total, rewritten, max_segments = (
        TieredMergePolicy(min_level_regions=82, level_factor=8),
        100_000,
        0,
        0,
    )
    sizes = [SegmentSize(total)]
    for _ in range(20_000):
        if replaced:  # ids are drawn at random: dead rows are spread like the subscriptions
            live = sum(size.live_regions for size in sizes)
            sizes = [_with_dead(size, 10 * size.live_regions / live) for size in sizes]
        if tiers.should_rewrite_last(sizes[-1], 10):
            sizes[-1] = SegmentSize(sizes[-1].live_regions + 10)
        else:
            sizes.append(SegmentSize(10))
        rewritten += sizes[-1].regions
        while plan := tiers.find_merge(sizes):
            merged = SegmentSize(sum(sizes[i].live_regions for i in plan))
            rewritten += merged.regions
            sizes = [size for i, size in enumerate(sizes) if i not in plan]
            sizes.insert(plan[0], merged)
        max_segments = max(max_segments, len(sizes))
    assert max_segments <= ceil(log(total / 82, 8)) + 3
    assert rewritten / 200_000 < 25


def _with_dead(size: SegmentSize, more: float) -> SegmentSize:
    return SegmentSize(size.regions, min(1.0, size.dead_share + more / size.regions))


@pytest.mark.parametrize(
    "wrong", [{"min_level_regions": 0}, {"level_factor": 1}, {"max_dead_share": 0.0}]
)
def test_invalid_merge_policies_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="a merge policy needs"):
        TieredMergePolicy(**wrong)
