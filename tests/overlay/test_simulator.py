"""The simulated network: order, faults, crashes, and the same again for the same seed."""

from __future__ import annotations

from typing import Any

import pytest

from covey.errors import ValueRefused
from covey.overlay.faults import Faults
from covey.overlay.simulator import OUTSIDE, Name, Sends, Simulator

BAD = Faults(lost=0.3, twice=0.3)


class Sender:
    """Sends what it is told to "b"."""

    def receive(self, sender: Name, message: Any) -> Sends:
        return [("b", message)]


class Teller:
    """Tells the outside what it gets."""

    def receive(self, sender: Name, message: Any) -> Sends:
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
        made.tell("a", number)
        made.tell("c", number)
        made.run(steps=1)
    made.run()
    for name in ("a", "c"):
        got = [message for _, (sender, message) in made.told if sender == name]
        assert got == list(range(50))
    assert made.sent["int"] == 100


class Note(tuple[int, ...]):
    """Numbers that can be told together."""

    def joined(self, later: list[Note]) -> Note:
        return Note(sum(later, tuple(self)))


@pytest.mark.parametrize("seed", range(5))
def test_what_is_joined_arrives_in_order_and_not_with_what_is_not_alike(seed: int) -> None:
    made = Simulator(seed, joining=True)
    made.add("a", Sender())
    made.add("b", Teller())
    for number in range(60):
        made.tell("a", number if number % 20 == 0 else Note((number,)))
        if number % 7 == 0:
            made.run(steps=1)
    made.run()
    got = [message for _, (_, message) in made.told]
    flat = [n for one in got for n in (one if isinstance(one, Note) else [one])]
    assert flat == list(range(60))
    assert made.sent["int"] == 3
    assert 3 <= made.sent["Note"] == len(got) - 3 < 30


def test_what_may_be_lost_is_not_joined() -> None:
    with pytest.raises(ValueRefused, match="not joined"):
        Simulator(1, BAD, joining=True)


def test_of_two_senders_any_may_be_first() -> None:
    orders = set()
    for seed in range(20):
        made = network(seed, None)
        made.tell("a", 1)
        made.tell("c", 2)
        made.run()
        orders.add(tuple(message for _, (_, message) in made.told))
    assert orders == {(1, 2), (2, 1)}


@pytest.mark.parametrize("faults", [None, BAD])
def test_the_same_seed_is_the_same_run(faults: Faults | None) -> None:
    runs = []
    for seed in (7, 7, 8):
        made = network(seed, faults)
        for number in range(30):
            made.tell("a" if number % 3 else "c", number)
        made.run()
        runs.append((made.told, made.now))
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_a_node_that_is_down_gets_it_later() -> None:
    made = network(1, Faults())
    made.crash("b", 100.0)
    made.crash("b", 1.0)  # it is down already
    made.tell("a", "early")
    made.run(steps=20)
    assert made.told == []
    made.tell("b", "from outside")
    made.run()
    assert [message for _, (_, message) in made.told] == ["from outside", "early"]
    assert made.now > 100


def test_without_retries_nothing_may_crash() -> None:
    with pytest.raises(ValueRefused, match="give faults"):
        network(1, None).crash("b", 1.0)


def test_a_name_is_given_once() -> None:
    made = network(1, None)
    with pytest.raises(ValueRefused, match="already"):
        made.add("a", Sender())


def test_messages_that_go_round_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("covey.overlay.simulator._LONGEST", 1000)
    made = Simulator()
    made.add("b", Sender())
    made.tell("b", "again")
    with pytest.raises(RuntimeError, match="still in flight"):
        made.run()


@pytest.mark.parametrize("given", [{"lost": 1.0}, {"lost": -0.1}, {"twice": 1.5}])
def test_impossible_chances_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(ValueRefused, match="no faults"):
        Faults(**given)
