"""Broker networks: random runs, and what links are told."""

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
def test_each_event_reaches_whom_it_should(strategy: str, faults: bool) -> None:
    outcomes = [BrokerTrial(seed, strategy=strategy, with_faults=faults).run() for seed in range(4)]
    assert [seed for seed, outcome in enumerate(outcomes) if not outcome.is_correct] == []
    assert sum(outcome.notifications for outcome in outcomes) > 200


@pytest.mark.parametrize("faults", [False, True])
def test_so_it_does_with_announcements(faults: bool) -> None:
    outcomes = [
        BrokerTrial(seed, requires_announcements=True, with_faults=faults).run()
        for seed in range(4)
    ]
    assert [seed for seed, outcome in enumerate(outcomes) if not outcome.is_correct] == []
    assert sum(outcome.notifications for outcome in outcomes) > 200


def test_the_same_trial_is_the_same_run() -> None:
    trial = BrokerTrial(3, with_faults=True)
    assert trial.run() == trial.run()


def test_covering_for_all_links_at_once_loses_events() -> None:
    outcomes = [BrokerTrial(seed, uses_paper_rules=True).run() for seed in range(6)]
    assert sum(outcome.lost for outcome in outcomes) > 10
    assert sum(outcome.invented for outcome in outcomes) == 0


def subscribe(network: BrokerNetwork, broker: int, **texts: str) -> None:
    parsed = parse(SPACE, list(texts.values()))
    network.subscribe(broker, list(texts), parsed.regions, parsed.predicate_rows)
    network.simulator.run()


def heard(network: BrokerNetwork, broker: int, x: int, y: int) -> list[Hashable]:
    """Who hears of an event."""
    network.deliveries.clear()
    network.publish(broker, np.array([7]), Events.from_arrow(pa.table({"x": [x], "y": [y]}), SPACE))
    network.simulator.run()
    assert {event for event, _ in network.deliveries} <= {7}
    return sorted(id_ for _, id_ in network.deliveries)  # type: ignore[type-var]


def told(network: BrokerNetwork) -> int:
    return network.simulator.sent_counts["RoutingUpdateMessage"]


def line(count: int, make_link: MakeLink, **options: object) -> BrokerNetwork:
    """Brokers one after another."""
    network = BrokerNetwork(SPACE, make_link, **options)  # type: ignore[arg-type]
    network.join()
    for name in range(count - 1):
        network.join(name)
    return network


@pytest.mark.parametrize("make_link", LINKS.values(), ids=LINKS)
def test_what_is_covered_is_told_no_further(make_link: MakeLink) -> None:
    network = line(4, make_link)
    subscribe(network, 0, wide="x < 8")
    assert told(network) == 3
    subscribe(network, 0, narrow="x < 8 AND y < 8")
    assert told(network) == 3
    assert heard(network, 3, 1, 1) == ["narrow", "wide"]
    assert heard(network, 3, 9, 1) == []


@pytest.mark.parametrize("make_link", LINKS.values(), ids=LINKS)
def test_covering_is_decided_link_by_link(make_link: MakeLink) -> None:
    """What came from a neighbour was not told to it, so it holds back nothing from it."""
    network = line(3, make_link)
    subscribe(network, 2, wide="x < 8")
    subscribe(network, 0, narrow="x < 4")
    assert heard(network, 2, 1, 1) == ["narrow", "wide"]
    printed = line(3, make_link, broker_class=PaperBroker)
    subscribe(printed, 2, wide="x < 8")
    subscribe(printed, 0, narrow="x < 4")
    assert heard(printed, 2, 1, 1) == ["wide"]


@pytest.mark.parametrize("make_link", LINKS.values(), ids=LINKS)
def test_what_was_covered_comes_back(make_link: MakeLink) -> None:
    network = line(4, make_link)
    subscribe(network, 0, wide="x < 8")
    subscribe(network, 0, narrow="x < 4", equal="x < 4")
    network.unsubscribe(0, ["wide"])
    network.simulator.run()
    assert heard(network, 3, 1, 1) == ["equal", "narrow"]
    before = network.simulator.sent_counts["ForwardEvents"]
    assert heard(network, 3, 5, 1) == []
    assert network.simulator.sent_counts["ForwardEvents"] == before


@pytest.mark.parametrize("make_link", LINKS.values(), ids=LINKS)
def test_who_subscribes_again_has_another_predicate(make_link: MakeLink) -> None:
    network = line(3, make_link)
    subscribe(network, 0, ann="x < 8", bob="y < 8")
    subscribe(network, 0, ann="x > 8")
    assert heard(network, 2, 1, 1) == ["bob"]
    assert heard(network, 2, 9, 9) == ["ann"]
    before = network.simulator.sent_counts["ForwardEvents"]
    assert heard(network, 2, 1, 9) == []
    assert network.simulator.sent_counts["ForwardEvents"] == before


def test_cells_that_several_have_together_are_told_no_further() -> None:
    network = line(3, cell_links(GRID))
    subscribe(network, 0, left="x < 8", right="x >= 8")
    before = told(network)
    subscribe(network, 1, middle="x BETWEEN 4 AND 11")
    assert told(network) == before + 1  # to 0, which 1 told nothing yet; 2 has all of it


@pytest.mark.parametrize("make_link", LINKS.values(), ids=LINKS)
def test_who_joins_hears_and_is_heard(make_link: MakeLink) -> None:
    network = line(2, make_link)
    subscribe(network, 0, old="x < 8")
    new = network.join(1)
    network.simulator.run()
    assert heard(network, new, 1, 1) == ["old"]
    subscribe(network, new, young="y < 8")
    assert heard(network, 0, 9, 1) == ["young"]


@pytest.mark.parametrize("make_link", LINKS.values(), ids=LINKS)
def test_when_one_leaves_the_others_are_linked(make_link: MakeLink) -> None:
    network = BrokerNetwork.build_tree(7, SPACE, make_link)
    subscribe(network, 3, left="x < 8")
    subscribe(network, 6, right="x < 9")
    subscribe(network, 1, gone="x < 10")
    network.leave(1)
    network.simulator.run()
    assert heard(network, 4, 1, 1) == ["left", "right"]
    with pytest.raises(InvalidArgumentError, match="connected already"):
        network.connect(4, 6)


def test_announcements_keep_subscriptions_from_where_nobody_publishes() -> None:
    network = BrokerNetwork.build_tree(7, SPACE, region_links(SPACE), requires_announcements=True)
    network.announce(6, ["prices"], parse(SPACE, ["x < 4"]).regions)
    network.simulator.run()
    subscribe(network, 3, wanted="x < 8", other="x > 8")
    assert told(network) == 4  # 3, 1, 0, 2, 6: the way to the publisher
    assert heard(network, 6, 1, 1) == ["wanted"]
    network.announce(6, ["more"], parse(SPACE, ["x > 8"]).regions, withdrawn_ids=["prices"])
    network.simulator.run()
    assert heard(network, 6, 9, 1) == ["other"]
    with pytest.raises(InvalidArgumentError, match="announce it first"):
        heard(network, 6, 1, 1)


def test_cells_have_no_announcements() -> None:
    with pytest.raises(InvalidArgumentError, match="announcements are of regions"):
        BrokerTrial(1, strategy="hilbert", requires_announcements=True).run()


def test_links_of_regions_take_strategies_of_regions_only() -> None:
    with pytest.raises(InvalidArgumentError, match="no strategy 'hilbert': there are exact, proj"):
        region_links(SPACE, "hilbert")("peer")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_that_lives_is_wanted_on_every_link(strategy: str) -> None:
    """After many changes at once, and a batch of events."""
    make = cell_links(GRID) if strategy == "hilbert" else region_links(SPACE, strategy)
    network = BrokerNetwork.build_tree(15, SPACE, make, seed=3)
    random = np.random.default_rng(3)
    at = {}
    for broker in range(15):
        corners = random.integers(0, 16, (40, 2))
        parsed = parse(SPACE, [f"x >= {x} AND x < {x + 3} AND y >= {y}" for x, y in corners])
        ids = [(broker, n) for n in range(40)]
        at[broker] = parsed.regions
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
        for broker, regions in at.items()
        for event, n in matches(regions, events)
        if n % 2
    }
    assert set(network.deliveries) == expected
    assert len(network.deliveries) == len(expected) > 1000


SCHEMA = pa.schema([("x", pa.int32()), ("y", pa.int32())])


def matches(regions: Regions, events: Events) -> list[tuple[int, int]]:

    return list(BruteForceIndex(regions).match(events))


@pytest.mark.parametrize("make_link", LINKS.values(), ids=LINKS)
def test_an_event_published_where_one_has_just_joined_is_not_lost(make_link: MakeLink) -> None:
    network = line(3, make_link)
    subscribe(network, 0, ann="x < 5")
    network.simulator.run()
    new = network.join(2)
    assert heard(network, new, 3, 3) == ["ann"]  # before anybody has told it what is wanted
    before = network.simulator.sent_counts["ForwardEvents"]
    assert heard(network, new, 9, 9) == []
    assert network.simulator.sent_counts["ForwardEvents"] == before
