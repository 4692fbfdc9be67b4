"""Zones: no event misses a region that contains it, wherever a sample made the cuts."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import Events, Space, parse
from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.geometry.relations import contains
from covey.store.storage.array_file import encode_arrays
from covey.testing import strategies
from covey.workload import ZipfBoxes
from covey.zones import EVERYWHERE, ZoneMap, ZoneSample, ZoneTree, build_zone_tree, rebalance_zones

ZONES = 8


def zoned(events: Events, regions: Regions, zones: int = ZONES) -> ZoneMap:
    sample = ZoneSample.from_events(events, regions)
    tree = build_zone_tree(sample, zones)
    return ZoneMap.build(tree, sample.measure_loads(tree)[0])


@given(st.data())
def test_an_event_is_in_a_zone_of_whatever_contains_it(data: st.DataObject) -> None:
    space = data.draw(strategies.spaces())
    sample, events = (data.draw(strategies.events(space, max_events=12)) for _ in range(2))
    cut_from, regions = (data.draw(strategies.regions(space, max_regions=12)) for _ in range(2))
    tree = zoned(sample, cut_from).tree
    owners, met = tree.find_event_zones(events), set(tree.find_region_zones(regions))
    for row, zone in enumerate(owners.tolist()):
        for region in range(len(regions)):
            if contains(regions, np.array([region]), events, np.array([row]))[0]:
                assert (region, zone) in met


@given(st.data())
def test_it_is_the_same_after_it_was_kept(data: st.DataObject) -> None:
    space = data.draw(strategies.spaces())
    events, regions = (
        data.draw(strategies.events(space, max_events=12)),
        data.draw(strategies.regions(space)),
    )
    before = zoned(events, regions)
    arrays, meta = before.to_arrays(), before.to_metadata()
    encode_arrays(arrays, meta)  # which refuses what it cannot hold
    after = ZoneMap.from_arrays(space, arrays, json.loads(json.dumps(meta)))
    assert list(after.tree.find_region_zones(regions)) == list(
        before.tree.find_region_zones(regions)
    )
    assert after.tree.to_expression(str) == before.tree.to_expression(str)
    assert (after.partitions_per_zone.tolist(), after.max_zones) == (
        before.partitions_per_zone.tolist(),
        before.max_zones,
    )


def prices(values: list[float | None]) -> Events:
    space = Space.from_types({"price": pa.float64()})
    return Events.from_arrow(pa.table({"price": pa.array(values, pa.float64())}), space)


def test_events_without_a_value_have_a_zone_of_their_own() -> None:
    events = prices([None] * 40 + [float(i) for i in range(60)])
    texts = [f"price BETWEEN {i} AND {i + 1}" for i in range(60)] + ["price IS NULL"] * 40
    zoning = zoned(events, parse(events.space, texts).regions)
    owners = zoning.tree.find_event_zones(events)
    assert len(set(owners[:40])) == 1
    assert not set(owners[:40]) & set(owners[40:])
    assert len(set(owners[40:])) == ZONES - 1


@pytest.mark.parametrize("broad", [4, 60])
def test_what_meets_most_zones_is_everywhere_if_it_is_much(broad: int) -> None:
    events = prices([float(i) for i in range(400)])
    texts = [f"price BETWEEN {i} AND {i + 1}" for i in range(400)] + ["price > 5"] * broad
    regions = parse(events.space, texts).regions
    sample = ZoneSample.from_events(events, regions)
    tree = build_zone_tree(sample, ZONES)
    zoning = ZoneMap.build(
        tree, sample.measure_loads(tree)[0], requested_zones=ZONES, regions=regions
    )
    placed = zoning.assign(regions, np.arange(len(regions)), len(regions))
    in_all = placed.query_rows[placed.stored_rows == EVERYWHERE].tolist()
    assert in_all == ([] if broad == 4 else list(range(400, 460)))


def test_what_is_alike_is_one_zone_with_several_owners() -> None:
    events = prices([7.0] * 90 + [float(i) for i in range(10, 20)])
    texts = ["price = 7", *(f"price = {i}" for i in range(10, 20))]
    zoning = zoned(events, parse(events.space, texts).regions)
    hot = int(zoning.tree.find_event_zones(events)[0])
    each = zoning.zone_work / zoning.partitions_per_zone
    assert zoning.partitions_per_zone[hot] > 1
    assert each.max() * zoning.partitions_per_zone.sum() <= 1.2


def test_what_meets_most_zones_is_everywhere_and_what_meets_none_somewhere() -> None:
    events = prices([float(i) for i in range(100)])
    texts = [*(f"price BETWEEN {i} AND {i}.5" for i in range(100)), "price >= 0 OR price < -5"]
    parsed = parse(events.space, [*texts, "price < 1 AND price > 2"])
    zoning = zoned(events, parsed.regions)
    placed = list(zoning.assign(parsed.regions, parsed.predicate_rows, len(parsed)))
    assert (100, EVERYWHERE) in placed
    assert sum(1 for row, _ in placed if row == 100) == 1
    assert (101, 0) in placed
    assert {row for row, _ in placed} == set(range(102))


def test_skewed_work_is_balanced() -> None:
    load = ZipfBoxes(dimensions=2, cells_per_side=8, event_exponent=1.0)
    events, fresh = (
        Events.from_arrow(load.generate_events(start, start + 20_000), load.space)
        for start in (0, 20_000)
    )
    regions = load.generate_regions(0, 20_000)
    zoning = zoned(events, regions, 16)
    assert len(zoning) == 16
    work = (
        ZoneSample.from_events(fresh, regions).measure_loads(zoning.tree)[0]
        / zoning.partitions_per_zone
    )
    assert work.max() * zoning.partitions_per_zone.sum() < 1.5
    assert zoning.partitions_per_zone.sum() < 64  # most of the work is in one corner


def test_there_is_one_zone_at_least() -> None:
    events = prices([1.0])
    regions = parse(events.space, ["price = 1"]).regions
    assert len(zoned(events, regions)) == 1
    assert ZoneTree().to_expression(str) == "0"
    with pytest.raises(InvalidArgumentError, match="zones must be at least 1, got 0"):
        zoned(events, regions, 0)


def test_a_tree_is_the_same_after_a_cut_is_taken_back() -> None:
    events = prices([float(i) for i in range(100)])
    regions = parse(events.space, [f"price BETWEEN {i} AND {i + 2}" for i in range(100)]).regions
    tree = zoned(events, regions).tree
    before = tree.find_event_zones(events)
    for cut, pair in enumerate(tree.children):
        if all(child < 0 for child in pair):
            low, high = sorted(~child for child in pair)
            after = tree.without_split(cut).find_event_zones(events)
            names = {high: low, len(tree) - 1: low if high == len(tree) - 1 else high}
            assert after.tolist() == [names.get(zone, zone) for zone in before.tolist()]


@given(st.data())
def test_what_was_moved_is_balanced_and_all_there(data: st.DataObject) -> None:
    """Each zone has, of the zones before it, all that meets it."""
    space = data.draw(strategies.spaces())
    events, fresh = (data.draw(strategies.events(space, max_events=30)) for _ in range(2))
    regions = data.draw(strategies.regions(space, max_regions=12))
    before = zoned(events, regions)
    now = ZoneSample.from_events(fresh, regions)
    owners = before.tree.find_event_zones(fresh)

    def of_zone(zone: int) -> ZoneSample:
        mine = np.flatnonzero(owners == zone)
        return ZoneSample(fresh.take(mine), now.event_work[mine], regions)

    to = rebalance_zones(before, now.measure_loads(before.tree)[0], of_zone)
    assert len(to.source_zones) == len(to.zone_map) == len(to.zone_map.zone_work)
    was, met = (
        set(before.tree.find_region_zones(regions)),
        to.zone_map.tree.find_region_zones(regions),
    )
    for region, zone in met:
        assert any((region, source) in was for source in to.source_zones[zone])
    for zone, source in enumerate(to.source_zones):
        if zone not in to.changed_zones:
            assert {r for r, z in met if z == zone} == {r for r, z in was if z == source[0]}


def test_drift_is_put_right() -> None:
    low, high = (
        prices([i / 50 for i in range(5_000)]),
        prices([95 + i / 1000 for i in range(5_000)]),
    )
    texts = [f"price BETWEEN {i / 10} AND {i / 10 + 0.05}" for i in range(1_000)]
    regions = parse(low.space, texts).regions
    before = zoned(low, regions)
    assert before.zone_work.max() * ZONES < 1.2
    drifted = ZoneSample.from_events(high, regions)
    share = drifted.measure_loads(before.tree)[0]
    assert share.max() * ZONES > 3
    owners = before.tree.find_event_zones(high)

    def of_zone(zone: int) -> ZoneSample:
        mine = np.flatnonzero(owners == zone)
        met = before.tree.find_region_zones(regions)
        return ZoneSample(
            high.take(mine),
            drifted.event_work[mine],
            regions.take(met.query_rows[met.stored_rows == zone]),
        )

    moved = before
    for _ in range(5):  # each time zones are cut once
        to = rebalance_zones(moved, drifted.measure_loads(moved.tree)[0], of_zone)
        if not to.changed_zones:
            break
        moved = to.zone_map
        owners = moved.tree.find_event_zones(high)
        before = moved
    assert drifted.measure_loads(moved.tree)[0].max() * len(moved) < 2
    assert ZONES <= len(moved) <= 2 * ZONES
