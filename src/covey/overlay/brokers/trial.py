"""Random runs of a broker network: brokers and subscriptions come and go, events pass."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from covey.errors import ValueRefused
from covey.geometry import Regions
from covey.geometry.relations import contains
from covey.index.grid import Grid
from covey.language import parse
from covey.overlay.brokers.broker import Broker, MakeLink
from covey.overlay.brokers.network import BrokerNetwork, by_cells, by_regions
from covey.overlay.brokers.printed import PrintedBroker
from covey.overlay.outcome import Expected, Outcome
from covey.overlay.simulator import Name
from covey.overlay.turns import FAULTS, carried_out
from covey.space import Events, Space

__all__ = ["BrokerTrial"]

_SPACE = Space.of({"x": pa.int32(), "y": pa.int32()})
_GRID = Grid.uniform(_SPACE, ["x", "y"], 3, {"x": (0, 31), "y": (0, 31)})
_BROKERS, _TOP = 12, 31
_WEIGHTS = (12, 4, 30, 18, 30, 6)


@dataclass(frozen=True, slots=True)
class BrokerTrial:
    """One run. The same trial is the same run, message for message; odd seeds join messages.

    `strategy` is one of `covey.table`; "hilbert" advertises cells. With `announcing` publishers say
    first what they will publish.

    >>> BrokerTrial(seed=1).run().is_right
    True
    """

    seed: int
    strategy: str = "exact"
    announcing: bool = False
    printed: bool = False
    faults: bool = False
    steps: int = 120

    def run(self) -> Outcome:
        """All of it, and then some events when all is quiet."""
        if self.announcing and self.strategy == "hilbert":
            raise ValueRefused("announcements are of regions: with cells there are none")
        if self.printed and (self.announcing or self.strategy != "exact"):
            raise ValueRefused("the printed rules cover exactly, and know no announcements")
        return _Run(self).outcome()


class _Run:
    def __init__(self, trial: BrokerTrial) -> None:
        self.random, self.trial = random.Random(trial.seed), trial
        self.network = BrokerNetwork(
            _SPACE, self._links(), announcing=trial.announcing, seed=trial.seed,
            faults=FAULTS if trial.faults else None,
            joining=trial.seed % 2 == 1 and not trial.faults,
            broker=PrintedBroker if trial.printed else Broker,
        )  # fmt: skip
        self.brokers = [self.network.join()]
        self.expected = Expected(self._matches)
        self.at: dict[int, Name] = {}
        self.regions: dict[int, Regions] = {}
        self.published: list[Events] = []
        self.announced: dict[Name, tuple[Name, int]] = {}

    def _links(self) -> MakeLink:
        if self.trial.strategy == "hilbert":
            return by_cells(_GRID, gap=self.random.randrange(4))
        return by_regions(_SPACE, self.trial.strategy)

    def outcome(self) -> Outcome:
        return carried_out(self, _WEIGHTS, self.trial.steps, self.trial.faults)

    def join(self) -> None:
        if len(self.brokers) < _BROKERS:
            self.brokers.append(self.network.join(self.member()))

    def leave(self) -> None:
        """A broker goes, with its clients and all events that it has."""
        if len(self.brokers) > 2 and not self.trial.printed:
            name = self.member()
            self.brokers.remove(name)
            for id_ in [id_ for id_ in self.expected.live if self.at[id_] == name]:  # type: ignore[index]
                self.expected.cancelled(id_)
            self.expected.excused()
            self.expected.unsettled()
            self.announced.pop(name, None)
            self.network.leave(name)

    def subscribe(self) -> None:
        ids = [len(self.at) + place for place in range(self.random.randint(1, 3))]
        name = self.member()
        parsed = parse(_SPACE, [self._predicate() for _ in ids])
        for place, id_ in enumerate(ids):
            self.at[id_] = name
            self.regions[id_] = parsed.regions.take(np.flatnonzero(parsed.of == place))
            self.expected.subscribed(id_)
        self.network.subscribe(name, ids, parsed.regions, parsed.of)

    def _predicate(self) -> str:
        return " OR ".join(
            f"x BETWEEN {x} AND {x + w} AND y BETWEEN {y} AND {y + h}"
            for x, y, w, h in (
                (*self._corner(), self.random.choice((0, 2, 8, 16)), self.random.choice((1, 4, 9)))
                for _ in range(self.random.choice((1, 1, 1, 2)))
            )
        )

    def _corner(self) -> tuple[int, int]:
        return self.random.randint(0, _TOP), self.random.randint(0, _TOP)

    def cancel(self) -> None:
        if live := self.expected.live:
            id_ = self.random.choice(live)
            self.expected.cancelled(id_)
            self.network.unsubscribe(self.at[id_], [id_])  # type: ignore[index]

    def publish(self) -> None:
        name = self.member()
        x, y = self._corner()
        if self.trial.announcing:
            self._announce(name, x, y)
        event = Events.from_arrow(pa.table({"x": [x], "y": [y]}), _SPACE)
        number = len(self.published)
        self.published.append(event)
        self.expected.published(number)
        self.network.publish(name, np.array([number]), event)

    def _announce(self, name: Name, x: int, y: int) -> None:
        """A publisher announces a box with the event instead of the one before, and waits."""
        before = self.announced.get(name)
        text = f"x BETWEEN {x - 4} AND {x + 4} AND y >= {y - 4}"
        regions = parse(_SPACE, [text]).regions
        number = len(self.published)
        self.network.announce(name, [(name, number)], regions, [] if before is None else [before])
        self.announced[name] = (name, number)
        self.quiet()

    def member(self) -> Name:
        return self.random.choice(self.brokers)

    def quiet(self) -> None:
        self.network.simulator.run()
        self.expected.quiet()
        self.expected.settled(self.expected.live)

    def _matches(self, event: int, ids: Iterable[Hashable]) -> set[Hashable]:
        here = self.published[event]
        return {
            id_
            for id_ in ids
            if contains(
                self.regions[id_],  # type: ignore[index]
                np.arange(len(self.regions[id_])),  # type: ignore[index]
                here,
                np.zeros(len(self.regions[id_]), np.int64),  # type: ignore[index]
            ).any()
        }
