"""The simulated network: order of messages, faults, crashes, and repeatable runs."""

from __future__ import annotations

from typing import Any

import pytest

from covey.errors import InvalidArgumentError
from covey.overlay.faults import Faults
from covey.overlay.simulator import OUTSIDE, NodeName, OutgoingMessages, Simulator

BAD = Faults(loss_probability=0.3, duplicate_probability=0.3)


class Sender:
    """A node that forwards every message to node "b"."""

    def receive(self, sender: NodeName, message: Any) -> OutgoingMessages:
        return [("b", message)]


class Recorder:
    """A node that sends every message to the outside, with its sender."""

    def receive(self, sender: NodeName, message: Any) -> OutgoingMessages:
        return [(OUTSIDE, (sender, message))]


def network(seed: int, faults: Faults | None) -> Simulator:
    """Return a network in which "a" and "c" forward to "b", which records."""
    simulator = Simulator(seed, faults)
    for name in ("a", "c"):
        simulator.add(name, Sender())
    simulator.add("b", Recorder())
    return simulator


@pytest.mark.parametrize("faults", [None, BAD])
@pytest.mark.parametrize("seed", range(5))
def test_messages_of_one_sender_arrive_once_and_in_order(seed: int, faults: Faults | None) -> None:
    simulator = network(seed, faults)
    for number in range(50):
        simulator.inject("a", number)
        simulator.inject("c", number)
        simulator.run(max_steps=1)
    simulator.run()
    for name in ("a", "c"):
        received = [message for _, (sender, message) in simulator.outputs if sender == name]
        assert received == list(range(50))
    assert simulator.sent_counts["int"] == 100


class Note(tuple[int, ...]):
    """Numbers that can be joined with later ones."""

    def coalesce(self, later: list[Note]) -> Note:
        return Note(sum(later, tuple(self)))


@pytest.mark.parametrize("seed", range(5))
def test_only_messages_of_one_class_are_coalesced_and_order_is_kept(seed: int) -> None:
    simulator = Simulator(seed, coalesce=True)
    simulator.add("a", Sender())
    simulator.add("b", Recorder())
    for number in range(60):
        simulator.inject("a", number if number % 20 == 0 else Note((number,)))
        if number % 7 == 0:
            simulator.run(max_steps=1)
    simulator.run()
    received = [message for _, (_, message) in simulator.outputs]
    flat = [
        n for message in received for n in (message if isinstance(message, Note) else [message])
    ]
    assert flat == list(range(60))
    assert simulator.sent_counts["int"] == 3
    assert 3 <= simulator.sent_counts["Note"] == len(received) - 3 < 30


def test_faults_together_with_coalesce_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="not joined"):
        Simulator(1, BAD, coalesce=True)


def test_messages_of_two_senders_arrive_in_any_order() -> None:
    orders = set()
    for seed in range(20):
        simulator = network(seed, None)
        simulator.inject("a", 1)
        simulator.inject("c", 2)
        simulator.run()
        orders.add(tuple(message for _, (_, message) in simulator.outputs))
    assert orders == {(1, 2), (2, 1)}


@pytest.mark.parametrize("faults", [None, BAD])
def test_equal_seeds_give_equal_runs(faults: Faults | None) -> None:
    runs = []
    for seed in (7, 7, 8):
        simulator = network(seed, faults)
        for number in range(30):
            simulator.inject("a" if number % 3 else "c", number)
        simulator.run()
        runs.append((simulator.outputs, simulator.now))
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_a_node_that_is_down_gets_messages_after_its_restart() -> None:
    simulator = network(1, Faults())
    simulator.crash("b", 100.0)
    simulator.crash("b", 1.0)  # a second crash of a node that is down has no effect
    simulator.inject("a", "early")
    simulator.run(max_steps=20)
    assert simulator.outputs == []
    simulator.inject("b", "from outside")
    simulator.run()
    assert [message for _, (_, message) in simulator.outputs] == ["from outside", "early"]
    assert simulator.now > 100


def test_a_crash_without_faults_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"node 'b' cannot crash.*faults=Faults"):
        network(1, None).crash("b", 1.0)


def test_a_second_node_of_a_name_is_refused() -> None:
    simulator = network(1, None)
    with pytest.raises(InvalidArgumentError, match="already"):
        simulator.add("a", Sender())


def test_an_endless_run_raises_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("covey.overlay.simulator._MAX_STEPS", 1000)
    simulator = Simulator()
    simulator.add("b", Sender())
    simulator.inject("b", "again")
    with pytest.raises(RuntimeError, match="still in flight"):
        simulator.run()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss_probability": 1.0}, "got 1.0 and 0.0"),
        ({"loss_probability": -0.1}, "got -0.1 and 0.0"),
        ({"duplicate_probability": 1.5}, "got 0.0 and 1.5"),
    ],
)
def test_invalid_probabilities_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"loss_probability must be .* {message}"):
        Faults(**options)
