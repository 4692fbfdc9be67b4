"""CAN networks: random runs, and the state of all nodes at the end."""

from __future__ import annotations

import random

import numpy as np
import pytest

from covey.overlay.can.network import BallWorkload, CanNetwork
from covey.overlay.can.paper_rules import PaperSmartSeats
from covey.overlay.can.projection import CubeProjection
from covey.overlay.can.seats import Seat, SeatPhase, Seats
from covey.overlay.can.trial import CanTrial, _CanRun
from covey.overlay.can.zones import CanZone


@pytest.mark.parametrize("faults", [False, True])
@pytest.mark.parametrize("smart", [False, True])
def test_no_notification_is_lost_or_invented(smart: bool, faults: bool) -> None:
    outcomes = [CanTrial(seed, smart=smart, with_faults=faults).run() for seed in range(40)]
    assert [seed for seed, outcome in enumerate(outcomes) if not outcome.is_correct] == []
    assert sum(outcome.notifications for outcome in outcomes) > 1000


def test_the_rules_of_the_paper_lose_events() -> None:
    outcomes = [CanTrial(seed, uses_paper_rules=True).run() for seed in range(40)]
    assert sum(outcome.lost for outcome in outcomes) > 10
    assert sum(outcome.invented for outcome in outcomes) == 0


def test_equal_trials_have_equal_runs() -> None:
    trial = CanTrial(3, with_faults=True)
    assert trial.run() == trial.run()


@pytest.mark.parametrize("smart", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_a_run_ends_with_seats_and_replicas_of_live_subscriptions_only(
    seed: int, smart: bool
) -> None:
    run = _CanRun(CanTrial(seed, smart=smart, with_faults=bool(seed % 2)))
    run.run()
    seats = collect_seats(run.network)
    assert set(seats) == set(run.oracle.live_subscriptions)
    zones = {name: node.zones for name, node in run.network.nodes.items()}
    assert sum(zone.volume for node_zones in zones.values() for zone in node_zones) == 1
    for id_, seat in seats.items():
        replica_nodes = {n for n, node in run.network.nodes.items() if id_ in node.replicas.by_id}
        if seat.phase is SeatPhase.ROOT:
            assert replica_nodes == find_met_nodes(zones, seat)
            assert all(seats[dependant].root_id == id_ for dependant in seat.dependants)
        else:
            assert seat.phase is SeatPhase.DEPENDANT
            assert seat.root_id is not None
            assert id_ in seats[seat.root_id].dependants
            assert not replica_nodes
    roots = {id_ for id_, seat in seats.items() if seat.phase is SeatPhase.ROOT}
    for node in run.network.nodes.values():
        assert node.replicas.by_id.keys() <= roots


def collect_seats(network: CanNetwork) -> dict[int, Seat]:
    """Return all seats by id, and assert that each is at the owner of its point."""
    seats: dict[int, Seat] = {}
    for node in network.nodes.values():
        for id_, seat in node.seats.seats.items():
            assert id_ not in seats
            assert node.owns(seat.subscription.centre)
            seats[id_] = seat
    return seats


def find_met_nodes(zones: dict[object, tuple[CanZone, ...]], seat: Seat) -> set[object]:
    """Return the nodes with a zone that the box of a seat meets."""
    box = seat.subscription.box
    return {
        name for name, node_zones in zones.items() if any(zone.meets(box) for zone in node_zones)
    }


def build_network(
    balls: BallWorkload, *, smart: bool = True, printed: bool = False, nodes: int = 8
) -> CanNetwork:
    """Return a network with all balls as subscriptions, made one after another."""
    network = CanNetwork(
        balls,
        CubeProjection.build_random(2, 2, max_radius=0.5, seed=1),
        smart=smart,
        make_seats=PaperSmartSeats if printed else Seats,
    )
    random_ = random.Random(1)
    for _ in range(nodes - 1):
        network.join(0, random_)
        network.simulator.run()
    for id_ in range(len(balls.radii)):
        network.subscribe(id_ % nodes, id_)
        network.simulator.run()
    return network


def publish(network: CanNetwork) -> set[int]:
    """Publish event 0, and return the ids of the notified subscriptions."""
    network.deliveries.clear()
    network.publish(0, 0)
    network.simulator.run()
    return {id_ for _, id_ in network.deliveries}


CENTRE = np.array([[0.5, 0.5]])
CANCELLED: dict[str, list[tuple[float, float]]] = {  # x and radius; the first is cancelled
    "two equal ones": [(0.5, 0.5), (0.9, 0.05), (0.9, 0.05)],
    "one within another, which moves": [(0.5, 0.5), (0.88, 0.1), (0.9, 0.05)],
}


@pytest.mark.parametrize("name", CANCELLED)
def test_dependants_of_a_cancelled_root_miss_no_event(name: str) -> None:
    """With the rules of the paper, the other dependants rely on each other and miss the event."""
    x, radii = (np.array(column) for column in zip(*CANCELLED[name], strict=True))
    balls = BallWorkload(np.stack([x, np.full(3, 0.5)], axis=1), radii, np.array([[0.9, 0.5]]))
    for printed in (False, True):
        network = build_network(balls, printed=printed)
        assert publish(network) == {0, 1, 2}
        network.unsubscribe(0, 0)
        network.simulator.run()
        assert (publish(network) == {1, 2}) is not printed


def test_a_new_root_adopts_the_roots_within_its_box() -> None:
    balls = BallWorkload(np.repeat(CENTRE, 3, axis=0), np.array([0.2, 0.1, 0.4]), CENTRE)
    network = build_network(balls)
    seats = collect_seats(network)
    assert seats[2].phase is SeatPhase.ROOT
    assert {seats[0].root_id, seats[1].root_id} == {2}
    assert seats[2].dependants.keys() == {0, 1}
    assert publish(network) == {0, 1, 2}


def test_only_smart_replication_sends_events_to_seats_of_roots() -> None:
    balls = BallWorkload.build_random(30, 50, 2, 0.5, 1)
    visits = {}
    for smart in (False, True):
        network = build_network(balls, smart=smart)
        for event in range(50):
            network.publish(event % 8, event)
        network.simulator.run()
        visits[smart] = network.simulator.sent_counts["NotifyRoots"]
    assert visits[False] == 0
    assert visits[True] > 0


def test_greedy_routing_takes_few_steps() -> None:
    balls = BallWorkload.build_random(1, 200, 2, 0.5, 1)
    network = build_network(balls, nodes=64)
    before = network.simulator.sent_counts["RoutedMessage"]
    for event in range(200):
        network.publish(event % 64, event)
    network.simulator.run()
    assert network.simulator.sent_counts["RoutedMessage"] - before < 200 * 64**0.5
