"""Broker networks: random runs, and the updates that links send."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pyarrow as pa
import pytest

from covey import Events, Space, parse
from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.index import BruteForceIndex
from covey.index.hilbert.grid import HilbertGrid
from covey.overlay.brokers.broker import MakeLink
from covey.overlay.brokers.network import BrokerNetwork, cell_links, region_links
from covey.overlay.brokers.paper_rules import PaperBroker
from covey.overlay.brokers.trial import BrokerTrial
from covey.routing.strategies import STRATEGIES

SPACE = Space.from_types({"x": pa.int32(), "y": pa.int32()})
GRID = HilbertGrid.uniform(SPACE, ["x", "y"], 4, {"x": (0, 15), "y": (0, 15)})
LINKS: dict[str, MakeLink] = {"regions": region_links(SPACE), "cells": cell_links(GRID)}


@pytest.mark.parametrize("faults", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_notification_is_lost_or_invented(strategy: str, faults: bool) -> None:
    outcomes = [BrokerTrial(seed, strategy=strategy, with_faults=faults).run() for seed in range(4)]
    assert [seed for seed, outcome in enumerate(outcomes) if not outcome.is_correct] == []
    assert sum(outcome.notifications for outcome in outcomes) > 200


@pytest.mark.parametrize("faults", [False, True])
def test_no_notification_is_lost_or_invented_with_announcements(faults: bool) -> None:
    outcomes = [
        BrokerTrial(seed, requires_announcements=True, with_faults=faults).run()
        for seed in range(4)
    ]
    assert [seed for seed, outcome in enumerate(outcomes) if not outcome.is_correct] == []
    assert sum(outcome.notifications for outcome in outcomes) > 200


def test_equal_trials_have_equal_runs() -> None:
    trial = BrokerTrial(3, with_faults=True)
    assert trial.run() == trial.run()


def test_deciding_covering_for_all_links_at_once_loses_events() -> None:
    outcomes = [BrokerTrial(seed, uses_paper_rules=True).run() for seed in range(6)]
    assert sum(outcome.lost for outcome in outcomes) > 10
    assert sum(outcome.invented for outcome in outcomes) == 0


def subscribe(network: BrokerNetwork, broker: int, **texts: str) -> None:
    """Subscribe with predicates by id, and wait until all messages have arrived."""
    parsed = parse(SPACE, list(texts.values()))
    network.subscribe(broker, list(texts), parsed.regions, parsed.predicate_rows)
    network.simulator.run()


def publish(network: BrokerNetwork, broker: int, x: int, y: int) -> list[Hashable]:
    """Publish an event, and return the ids of the notified subscriptions."""
    network.deliveries.clear()
    network.publish(broker, np.array([7]), Events.from_arrow(pa.table({"x": [x], "y": [y]}), SPACE))
    network.simulator.run()
    assert {event for event, _ in network.deliveries} <= {7}
    return sorted(id_ for _, id_ in network.deliveries)  # type: ignore[type-var]


def count_updates(network: BrokerNetwork) -> int:
    """Return the number of routing updates that were sent so far."""
    return network.simulator.sent_counts["RoutingUpdateMessage"]


def build_line(count: int, make_link: MakeLink, **options: object) -> BrokerNetwork:
    """Return a network in which each broker is linked to the one before."""
    network = BrokerNetwork(SPACE, make_link, **options)  # type: ignore[arg-type]
    network.join()
    for name in range(count - 1):
        network.join(name)
    return network


@pytest.mark.parametrize("make_link", LINKS.values(), ids=LINKS)
def test_a_covered_subscription_is_not_advertised(make_link: MakeLink) -> None:
    network = build_line(4, make_link)
    subscribe(network, 0, wide="x < 8")
    assert count_updates(network) == 3
    subscribe(network, 0, narrow="x < 8 AND y < 8")
    assert count_updates(network) == 3
    assert publish(network, 3, 1, 1) == ["narrow", "wide"]
    assert publish(network, 3, 9, 1) == []


@pytest.mark.parametrize("make_link", LINKS.values(), ids=LINKS)
def test_covering_is_decided_separately_for_each_link(make_link: MakeLink) -> None:
    """A link does not advertise subscriptions of its own neighbour, so they cover nothing there."""
    network = build_line(3, make_link)
    subscribe(network, 2, wide="x < 8")
    subscribe(network, 0, narrow="x < 4")
    assert publish(network, 2, 1, 1) == ["narrow", "wide"]
    printed = build_line(3, make_link, broker_class=PaperBroker)
    subscribe(printed, 2, wide="x < 8")
    subscribe(printed, 0, narrow="x < 4")
    assert publish(printed, 2, 1, 1) == ["wide"]


@pytest.mark.parametrize("make_link", LINKS.values(), ids=LINKS)
def test_subscriptions_are_advertised_when_their_cover_is_cancelled(make_link: MakeLink) -> None:
    network = build_line(4, make_link)
    subscribe(network, 0, wide="x < 8")
    subscribe(network, 0, narrow="x < 4", equal="x < 4")
    network.unsubscribe(0, ["wide"])
    network.simulator.run()
    assert publish(network, 3, 1, 1) == ["equal", "narrow"]
    before = network.simulator.sent_counts["ForwardEvents"]
    assert publish(network, 3, 5, 1) == []
    assert network.simulator.sent_counts["ForwardEvents"] == before


@pytest.mark.parametrize("make_link", LINKS.values(), ids=LINKS)
def test_subscribing_with_an_existing_id_replaces_the_predicate(make_link: MakeLink) -> None:
    network = build_line(3, make_link)
    subscribe(network, 0, ann="x < 8", bob="y < 8")
    subscribe(network, 0, ann="x > 8")
    assert publish(network, 2, 1, 1) == ["bob"]
    assert publish(network, 2, 9, 9) == ["ann"]
    before = network.simulator.sent_counts["ForwardEvents"]
    assert publish(network, 2, 1, 9) == []
    assert network.simulator.sent_counts["ForwardEvents"] == before


def test_cells_already_covered_by_several_subscriptions_are_not_advertised() -> None:
    network = build_line(3, cell_links(GRID))
    subscribe(network, 0, left="x < 8", right="x >= 8")
    before = count_updates(network)
    subscribe(network, 1, middle="x BETWEEN 4 AND 11")
    # Broker 0 gets the first update from 1; broker 2 has all of these cells already.
    assert count_updates(network) == before + 1


@pytest.mark.parametrize("make_link", LINKS.values(), ids=LINKS)
def test_a_new_broker_forwards_and_receives_events(make_link: MakeLink) -> None:
    network = build_line(2, make_link)
    subscribe(network, 0, old="x < 8")
    new = network.join(1)
    network.simulator.run()
    assert publish(network, new, 1, 1) == ["old"]
    subscribe(network, new, young="y < 8")
    assert publish(network, 0, 9, 1) == ["young"]


@pytest.mark.parametrize("make_link", LINKS.values(), ids=LINKS)
def test_the_neighbours_of_a_leaving_broker_are_linked(make_link: MakeLink) -> None:
    network = BrokerNetwork.build_tree(7, SPACE, make_link)
    subscribe(network, 3, left="x < 8")
    subscribe(network, 6, right="x < 9")
    subscribe(network, 1, gone="x < 10")
    network.leave(1)
    network.simulator.run()
    assert publish(network, 4, 1, 1) == ["left", "right"]
    with pytest.raises(InvalidArgumentError, match="connected already"):
        network.connect(4, 6)


def test_subscriptions_are_advertised_towards_matching_announcements_only() -> None:
    network = BrokerNetwork.build_tree(7, SPACE, region_links(SPACE), requires_announcements=True)
    network.announce(6, ["prices"], parse(SPACE, ["x < 4"]).regions)
    network.simulator.run()
    subscribe(network, 3, matching="x < 8", other="x > 8")
    assert count_updates(network) == 4  # the links of the path 3, 1, 0, 2, 6 to the publisher
    assert publish(network, 6, 1, 1) == ["matching"]
    network.announce(6, ["more"], parse(SPACE, ["x > 8"]).regions, withdrawn_ids=["prices"])
    network.simulator.run()
    assert publish(network, 6, 9, 1) == ["other"]
    with pytest.raises(InvalidArgumentError, match="announce a region that contains them first"):
        publish(network, 6, 1, 1)


def test_announcements_with_cells_are_refused() -> None:
    with pytest.raises(
        InvalidArgumentError, match="announcements need a strategy that advertises regions"
    ):
        BrokerTrial(1, strategy="hilbert", requires_announcements=True).run()


def test_region_links_refuse_strategies_of_cells() -> None:
    with pytest.raises(
        InvalidArgumentError, match="no routing strategy 'hilbert': choose one of exact, proj"
    ):
        region_links(SPACE, "hilbert")("peer")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_batch_of_events_reaches_all_live_subscriptions_after_many_changes(
    strategy: str,
) -> None:
    make = cell_links(GRID) if strategy == "hilbert" else region_links(SPACE, strategy)
    network = BrokerNetwork.build_tree(15, SPACE, make, seed=3)
    random = np.random.default_rng(3)
    regions_by_broker = {}
    for broker in range(15):
        corners = random.integers(0, 16, (40, 2))
        parsed = parse(SPACE, [f"x >= {x} AND x < {x + 3} AND y >= {y}" for x, y in corners])
        ids = [(broker, n) for n in range(40)]
        regions_by_broker[broker] = parsed.regions
        network.subscribe(broker, ids, parsed.regions, parsed.predicate_rows)
    network.simulator.run(max_steps=40)
    for broker in range(15):
        network.unsubscribe(broker, [(broker, n) for n in range(0, 40, 2)])
    network.simulator.run()
    points = random.integers(0, 16, (100, 2))
    events = Events.from_arrow(pa.table({"x": points[:, 0], "y": points[:, 1]}, SCHEMA), SPACE)
    network.publish(14, np.arange(100), events)
    network.simulator.run()
    expected = {
        (event, (broker, n))
        for broker, regions in regions_by_broker.items()
        for event, n in matches(regions, events)
        if n % 2
    }
    assert set(network.deliveries) == expected
    assert len(network.deliveries) == len(expected) > 1000


SCHEMA = pa.schema([("x", pa.int32()), ("y", pa.int32())])


def matches(regions: Regions, events: Events) -> list[tuple[int, int]]:
    """Return all pairs of an event and a region that contains it."""
    return list(BruteForceIndex(regions).match(events))


@pytest.mark.parametrize("make_link", LINKS.values(), ids=LINKS)
def test_an_event_at_a_newly_joined_broker_is_not_lost(make_link: MakeLink) -> None:
    network = build_line(3, make_link)
    subscribe(network, 0, ann="x < 5")
    network.simulator.run()
    new = network.join(2)
    assert publish(network, new, 3, 3) == ["ann"]  # no neighbour has sent an advertisement to it
    before = network.simulator.sent_counts["ForwardEvents"]
    assert publish(network, new, 9, 9) == []
    assert network.simulator.sent_counts["ForwardEvents"] == before
