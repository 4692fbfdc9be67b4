"""The simulated network: order, faults, crashes, and the same again for the same seed."""

from __future__ import annotations

from typing import Any

import pytest

from covey.errors import InvalidArgumentError
from covey.overlay.faults import Faults
from covey.overlay.simulator import OUTSIDE, NodeName, OutgoingMessages, Simulator

BAD = Faults(loss_probability=0.3, duplicate_probability=0.3)


class Sender:
    """Sends what it is told to "b"."""

    def receive(self, sender: NodeName, message: Any) -> OutgoingMessages:
        return [("b", message)]


class Teller:
    """Tells the outside what it gets."""

    def receive(self, sender: NodeName, message: Any) -> OutgoingMessages:
        return [(OUTSIDE, (sender, message))]


def network(seed: int, faults: Faults | None) -> Simulator:
    made = Simulator(seed, faults)
    for name in ("a", "c"):
        made.add(name, Sender())
    made.add("b", Teller())
    return made


@pytest.mark.parametrize("faults", [None, BAD])
@pytest.mark.parametrize("seed", range(5))
def test_of_one_sender_all_arrives_once_and_in_order(seed: int, faults: Faults | None) -> None:
    made = network(seed, faults)
    for number in range(50):
        made.inject("a", number)
        made.inject("c", number)
        made.run(max_steps=1)
    made.run()
    for name in ("a", "c"):
        got = [message for _, (sender, message) in made.outputs if sender == name]
        assert got == list(range(50))
    assert made.sent_counts["int"] == 100


class Note(tuple[int, ...]):
    """Numbers that can be told together."""

    def coalesce(self, later: list[Note]) -> Note:
        return Note(sum(later, tuple(self)))


@pytest.mark.parametrize("seed", range(5))
def test_what_is_joined_arrives_in_order_and_not_with_what_is_not_alike(seed: int) -> None:
    made = Simulator(seed, coalesce=True)
    made.add("a", Sender())
    made.add("b", Teller())
    for number in range(60):
        made.inject("a", number if number % 20 == 0 else Note((number,)))
        if number % 7 == 0:
            made.run(max_steps=1)
    made.run()
    got = [message for _, (_, message) in made.outputs]
    flat = [n for one in got for n in (one if isinstance(one, Note) else [one])]
    assert flat == list(range(60))
    assert made.sent_counts["int"] == 3
    assert 3 <= made.sent_counts["Note"] == len(got) - 3 < 30


def test_what_may_be_lost_is_not_joined() -> None:
    with pytest.raises(InvalidArgumentError, match="not joined"):
        Simulator(1, BAD, coalesce=True)


def test_of_two_senders_any_may_be_first() -> None:
    orders = set()
    for seed in range(20):
        made = network(seed, None)
        made.inject("a", 1)
        made.inject("c", 2)
        made.run()
        orders.add(tuple(message for _, (_, message) in made.outputs))
    assert orders == {(1, 2), (2, 1)}


@pytest.mark.parametrize("faults", [None, BAD])
def test_the_same_seed_is_the_same_run(faults: Faults | None) -> None:
    runs = []
    for seed in (7, 7, 8):
        made = network(seed, faults)
        for number in range(30):
            made.inject("a" if number % 3 else "c", number)
        made.run()
        runs.append((made.outputs, made.now))
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_a_node_that_is_down_gets_it_later() -> None:
    made = network(1, Faults())
    made.crash("b", 100.0)
    made.crash("b", 1.0)  # it is down already
    made.inject("a", "early")
    made.run(max_steps=20)
    assert made.outputs == []
    made.inject("b", "from outside")
    made.run()
    assert [message for _, (_, message) in made.outputs] == ["from outside", "early"]
    assert made.now > 100


def test_without_retries_nothing_may_crash() -> None:
    with pytest.raises(InvalidArgumentError, match="give faults"):
        network(1, None).crash("b", 1.0)


def test_a_name_is_given_once() -> None:
    made = network(1, None)
    with pytest.raises(InvalidArgumentError, match="already"):
        made.add("a", Sender())


def test_messages_that_go_round_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("covey.overlay.simulator._MAX_STEPS", 1000)
    made = Simulator()
    made.add("b", Sender())
    made.inject("b", "again")
    with pytest.raises(RuntimeError, match="still in flight"):
        made.run()


@pytest.mark.parametrize(
    "given", [{"loss_probability": 1.0}, {"loss_probability": -0.1}, {"duplicate_probability": 1.5}]
)
def test_impossible_chances_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(InvalidArgumentError, match="no faults"):
        Faults(**given)
