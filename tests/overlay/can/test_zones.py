"""Zones: halving, union and difference, and greedy routing to a point."""

from __future__ import annotations

import random

import pytest

from covey.overlay.can.zones import CanZone, merge_zones, nearest_distance


def build_zones(k: int, count: int, seed: int) -> list[CanZone]:
    """Return zones that divide the cube, by halving random ones."""
    random_, zones = random.Random(seed), [CanZone.whole_cube(k)]
    while len(zones) < count:
        zones += zones.pop(random_.randrange(len(zones))).split_in_half()
    return zones


def points(k: int, count: int, seed: int) -> list[tuple[float, ...]]:
    """Return random points, many of them on boundaries of zones."""
    random_ = random.Random(seed)
    return [
        tuple(random_.choice((random_.random(), random_.randrange(8) / 8)) for _ in range(k))
        for _ in range(count)
    ]


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_every_point_is_in_one_zone(k: int) -> None:
    zones = build_zones(k, 40, k)
    assert sum(zone.volume for zone in zones) == 1
    for point in points(k, 200, k):
        assert sum(zone.contains(point) for zone in zones) == 1
        assert [zone.contains(point) for zone in zones] == [
            zone.meets((point, point)) for zone in zones
        ]
        assert [zone.contains(point) for zone in zones] == [
            zone.distance_to(point) == (0.0, 0) for zone in zones
        ]


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_a_point_outside_a_zone_is_nearer_to_a_neighbour(k: int) -> None:
    zones = build_zones(k, 60, 10 + k)
    for point in points(k, 100, k):
        for zone in zones:
            if not zone.contains(point):
                neighbour_distance = nearest_distance(
                    [other for other in zones if zone.touches(other)], point
                )
                assert neighbour_distance < zone.distance_to(point)


def test_a_zone_is_halved_along_its_longest_side() -> None:
    left, right = CanZone((0.0, 0.0), (0.5, 1.0)).split_in_half()
    assert left == CanZone((0.0, 0.0), (0.5, 0.5))
    assert right == CanZone((0.0, 0.5), (0.5, 1.0))
    assert left.try_union(right) == CanZone((0.0, 0.0), (0.5, 1.0))


def test_zones_with_only_a_common_corner_do_not_touch() -> None:
    zone = CanZone((0.0, 0.0), (0.5, 0.5))
    assert zone.touches(CanZone((0.5, 0.25), (1.0, 1.0)))
    assert not zone.touches(CanZone((0.5, 0.5), (1.0, 1.0)))
    assert not zone.touches(CanZone((0.75, 0.0), (1.0, 0.5)))
    assert zone.try_union(CanZone((0.5, 0.25), (1.0, 1.0))) is None


def test_all_zones_of_the_cube_merge_to_the_cube() -> None:
    zones = build_zones(2, 16, 3)
    assert merge_zones(zones) == (CanZone.whole_cube(2),)
    assert sum(zone.volume for zone in merge_zones(zones[1:])) == 1 - zones[0].volume


@pytest.mark.parametrize("seed", range(20))
def test_the_difference_of_zones_has_exactly_the_remaining_points(seed: int) -> None:
    zones = build_zones(3, 30, seed)
    whole, part = CanZone.whole_cube(3), zones[seed]
    difference = whole.subtract(part)
    assert sum(zone.volume for zone in difference) == 1 - part.volume
    assert part.subtract(whole) == []
    assert all(other.subtract(part) == [other] for other in zones if other is not part)
    for point in points(3, 50, seed):
        assert sum(zone.contains(point) for zone in difference) == (not part.contains(point))


def test_a_zone_counts_its_transfers() -> None:
    left, right = CanZone.whole_cube(1).split_in_half()
    assert (left.transfer_count, right.with_new_owner().transfer_count) == (0, 1)
    union = left.try_union(right.with_new_owner())
    assert union is not None
    assert union.transfer_count == 1
    assert union == CanZone.whole_cube(1)
