"""Zones: an event is in a zone of every region that contains it, for splits by any sample."""

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


def build_zone_map(events: Events, regions: Regions, zones: int = ZONES) -> ZoneMap:
    """Return the zone map for a sample of events and regions."""
    sample = ZoneSample.from_events(events, regions)
    tree = build_zone_tree(sample, zones)
    return ZoneMap.build(tree, sample.measure_loads(tree)[0])


@given(st.data())
def test_an_event_is_in_a_zone_of_every_region_that_contains_it(data: st.DataObject) -> None:
    space = data.draw(strategies.spaces())
    sample, events = (data.draw(strategies.events(space, max_events=12)) for _ in range(2))
    sample_regions, regions = (
        data.draw(strategies.regions(space, max_regions=12)) for _ in range(2)
    )
    tree = build_zone_map(sample, sample_regions).tree
    event_zones, region_zones = tree.find_event_zones(events), set(tree.find_region_zones(regions))
    for row, zone in enumerate(event_zones.tolist()):
        for region in range(len(regions)):
            if contains(regions, np.array([region]), events, np.array([row]))[0]:
                assert (region, zone) in region_zones


@given(st.data())
def test_a_zone_map_is_restored_from_its_arrays_and_metadata(data: st.DataObject) -> None:
    space = data.draw(strategies.spaces())
    events, regions = (
        data.draw(strategies.events(space, max_events=12)),
        data.draw(strategies.regions(space)),
    )
    before = build_zone_map(events, regions)
    arrays, meta = before.to_arrays(), before.to_metadata()
    encode_arrays(arrays, meta)  # raises if the format cannot hold the values
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
    """Return events with these prices."""
    space = Space.from_types({"price": pa.float64()})
    return Events.from_arrow(pa.table({"price": pa.array(values, pa.float64())}), space)


def test_events_without_a_value_have_a_separate_zone() -> None:
    events = prices([None] * 40 + [float(i) for i in range(60)])
    texts = [f"price BETWEEN {i} AND {i + 1}" for i in range(60)] + ["price IS NULL"] * 40
    zone_map = build_zone_map(events, parse(events.space, texts).regions)
    event_zones = zone_map.tree.find_event_zones(events)
    assert len(set(event_zones[:40])) == 1
    assert not set(event_zones[:40]) & set(event_zones[40:])
    assert len(set(event_zones[40:])) == ZONES - 1


@pytest.mark.parametrize("broad", [4, 60])
def test_regions_that_meet_most_zones_are_broadcast_unless_they_are_few(broad: int) -> None:
    events = prices([float(i) for i in range(400)])
    texts = [f"price BETWEEN {i} AND {i + 1}" for i in range(400)] + ["price > 5"] * broad
    regions = parse(events.space, texts).regions
    sample = ZoneSample.from_events(events, regions)
    tree = build_zone_tree(sample, ZONES)
    zone_map = ZoneMap.build(
        tree, sample.measure_loads(tree)[0], requested_zones=ZONES, regions=regions
    )
    members = zone_map.assign(regions, np.arange(len(regions)), len(regions))
    in_all = members.query_rows[members.stored_rows == EVERYWHERE].tolist()
    assert in_all == ([] if broad == 4 else list(range(400, 460)))


def test_a_zone_of_equal_events_gets_several_partitions() -> None:
    events = prices([7.0] * 90 + [float(i) for i in range(10, 20)])
    texts = ["price = 7", *(f"price = {i}" for i in range(10, 20))]
    zone_map = build_zone_map(events, parse(events.space, texts).regions)
    hot = int(zone_map.tree.find_event_zones(events)[0])
    each = zone_map.zone_work / zone_map.partitions_per_zone
    assert zone_map.partitions_per_zone[hot] > 1
    assert each.max() * zone_map.partitions_per_zone.sum() <= 1.2


def test_every_subscription_has_a_zone_or_is_broadcast() -> None:
    """One subscription meets most zones and is broadcast; one without a region is in zone 0."""
    events = prices([float(i) for i in range(100)])
    texts = [*(f"price BETWEEN {i} AND {i}.5" for i in range(100)), "price >= 0 OR price < -5"]
    parsed = parse(events.space, [*texts, "price < 1 AND price > 2"])
    zone_map = build_zone_map(events, parsed.regions)
    members = list(zone_map.assign(parsed.regions, parsed.predicate_rows, len(parsed)))
    assert (100, EVERYWHERE) in members
    assert sum(1 for row, _ in members if row == 100) == 1
    assert (101, 0) in members
    assert {row for row, _ in members} == set(range(102))


def test_skewed_work_is_balanced() -> None:
    workload = ZipfBoxes(dimensions=2, cells_per_side=8, event_exponent=1.0)
    events, new_events = (
        Events.from_arrow(workload.generate_events(start, start + 20_000), workload.space)
        for start in (0, 20_000)
    )
    regions = workload.generate_regions(0, 20_000)
    zone_map = build_zone_map(events, regions, 16)
    assert len(zone_map) == 16
    work = (
        ZoneSample.from_events(new_events, regions).measure_loads(zone_map.tree)[0]
        / zone_map.partitions_per_zone
    )
    assert work.max() * zone_map.partitions_per_zone.sum() < 1.5
    assert zone_map.partitions_per_zone.sum() < 64  # most of the work is in one corner


def test_a_tree_has_at_least_one_zone() -> None:
    events = prices([1.0])
    regions = parse(events.space, ["price = 1"]).regions
    assert len(build_zone_map(events, regions)) == 1
    assert ZoneTree().to_expression(str) == "0"
    with pytest.raises(InvalidArgumentError, match="zone_count must be at least 1, got 0"):
        build_zone_map(events, regions, 0)


def test_removing_a_split_joins_its_two_zones_only() -> None:
    events = prices([float(i) for i in range(100)])
    regions = parse(events.space, [f"price BETWEEN {i} AND {i + 2}" for i in range(100)]).regions
    tree = build_zone_map(events, regions).tree
    before = tree.find_event_zones(events)
    for split_index, pair in enumerate(tree.children):
        if all(child < 0 for child in pair):
            low, high = sorted(~child for child in pair)
            after = tree.without_split(split_index).find_event_zones(events)
            names = {high: low, len(tree) - 1: low if high == len(tree) - 1 else high}
            assert after.tolist() == [names.get(zone, zone) for zone in before.tolist()]


@given(st.data())
def test_the_sources_of_a_rebalanced_zone_have_every_region_that_meets_it(
    data: st.DataObject,
) -> None:
    """A zone that is reported as unchanged has the same regions as before."""
    space = data.draw(strategies.spaces())
    events, new_events = (data.draw(strategies.events(space, max_events=30)) for _ in range(2))
    regions = data.draw(strategies.regions(space, max_regions=12))
    before = build_zone_map(events, regions)
    new_sample = ZoneSample.from_events(new_events, regions)
    event_zones = before.tree.find_event_zones(new_events)

    def sample_zone(zone: int) -> ZoneSample:
        """Return the new events of a zone, with all regions."""
        rows = np.flatnonzero(event_zones == zone)
        return ZoneSample(new_events.take(rows), new_sample.event_work[rows], regions)

    result = rebalance_zones(before, new_sample.measure_loads(before.tree)[0], sample_zone)
    assert len(result.source_zones) == len(result.zone_map) == len(result.zone_map.zone_work)
    old_pairs, region_zones = (
        set(before.tree.find_region_zones(regions)),
        result.zone_map.tree.find_region_zones(regions),
    )
    for region, zone in region_zones:
        assert any((region, source) in old_pairs for source in result.source_zones[zone])
    for zone, source in enumerate(result.source_zones):
        if zone not in result.changed_zones:
            assert {r for r, z in region_zones if z == zone} == {
                r for r, z in old_pairs if z == source[0]
            }


def test_rebalancing_restores_the_balance_after_events_have_drifted() -> None:
    low, high = (
        prices([i / 50 for i in range(5_000)]),
        prices([95 + i / 1000 for i in range(5_000)]),
    )
    texts = [f"price BETWEEN {i / 10} AND {i / 10 + 0.05}" for i in range(1_000)]
    regions = parse(low.space, texts).regions
    before = build_zone_map(low, regions)
    assert before.zone_work.max() * ZONES < 1.2
    drifted = ZoneSample.from_events(high, regions)
    share = drifted.measure_loads(before.tree)[0]
    assert share.max() * ZONES > 3
    event_zones = before.tree.find_event_zones(high)

    def sample_zone(zone: int) -> ZoneSample:
        """Return the drifted events of a zone, with the regions that meet it."""
        rows = np.flatnonzero(event_zones == zone)
        region_zones = before.tree.find_region_zones(regions)
        return ZoneSample(
            high.take(rows),
            drifted.event_work[rows],
            regions.take(region_zones.query_rows[region_zones.stored_rows == zone]),
        )

    zone_map = before
    for _ in range(5):  # each rebalancing splits a zone at most once
        result = rebalance_zones(zone_map, drifted.measure_loads(zone_map.tree)[0], sample_zone)
        if not result.changed_zones:
            break
        zone_map = result.zone_map
        event_zones = zone_map.tree.find_event_zones(high)
        before = zone_map
    assert drifted.measure_loads(zone_map.tree)[0].max() * len(zone_map) < 2
    assert ZONES <= len(zone_map) <= 2 * ZONES
