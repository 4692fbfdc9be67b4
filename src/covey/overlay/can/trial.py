"""Random runs of a CAN: nodes join and leave, subscriptions come and go, events pass among them."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from covey.overlay.can.cube import Cube
from covey.overlay.can.network import Balls, CanNetwork
from covey.overlay.faults import Faults
from covey.overlay.outcome import Expected, Outcome
from covey.overlay.simulator import Name

__all__ = ["CanTrial"]

_FAULTS = Faults(lost=0.1, twice=0.1)
_NODES, _R_MAX = 16, 0.5


@dataclass(frozen=True, slots=True)
class CanTrial:
    """One run. The same trial is the same run, message for message.

    >>> CanTrial(seed=1).run().is_right
    True
    """

    seed: int
    smart: bool = True
    printed: bool = False
    faults: bool = False
    steps: int = 150

    def run(self) -> Outcome:
        """All of it, and then some events when all is quiet."""
        return _Run(self).outcome()


class _Run:
    def __init__(self, trial: CanTrial) -> None:
        self.random = random.Random(trial.seed)
        k, d = self.random.randint(1, 3), self.random.randint(2, 6)
        balls = Balls.drawn(trial.steps, 2 * trial.steps, d, _R_MAX, trial.seed)
        self.network = CanNetwork(
            balls, Cube.drawn(k, d, _R_MAX, trial.seed), smart=trial.smart, printed=trial.printed,
            seed=trial.seed, faults=_FAULTS if trial.faults else None,
        )  # fmt: skip
        self.expected = Expected(self._matches)
        self.trial, self.at = trial, dict[int, Name]()
        self.subscriptions = self.events = 0

    def outcome(self) -> Outcome:
        simulator = self.network.simulator
        for _ in range(self.trial.steps):
            self._one()
            if self.random.random() < 0.15:
                self._quiet()
            else:
                simulator.run(self.random.randrange(30))
        self._quiet()
        for _ in range(self.trial.steps // 4):
            self._publish()
            self._quiet()
        return self.expected.outcome(self.network.delivered, sum(simulator.sent.values()))

    def _one(self) -> None:
        """Something happens."""
        (act,) = self.random.choices(
            [self._join, self._leave, self._subscribe, self._cancel, self._publish, self._crash],
            [12, 6, 25, 15, 35, 7],
        )
        act()

    def _join(self) -> None:
        if len(self.network.members) < _NODES:
            self.network.join(self._member(), self.random)

    def _leave(self) -> None:
        """Leaves are one at a time."""
        if len(self.network.members) > 2:
            self._quiet()
            self.network.leave(self._member())

    def _subscribe(self) -> None:
        id_ = self.subscriptions
        self.subscriptions += 1
        self.at[id_] = self._member()
        self.expected.subscribed(id_)
        self.network.subscribe(self.at[id_], id_)

    def _cancel(self) -> None:
        if live := self.expected.live:
            id_ = self.random.choice(live)
            self.expected.cancelled(id_)
            self.network.unsubscribe(self.at[id_], id_)  # type: ignore[index,arg-type]

    def _publish(self) -> None:
        self.expected.settled(self.network.settled)
        self.expected.published(self.events)
        self.network.publish(self._member(), self.events)
        self.events += 1

    def _crash(self) -> None:
        if self.trial.faults:
            self.network.simulator.crash(self._member(), 20 * self.random.random())

    def _member(self) -> Name:
        return self.random.choice(self.network.members)

    def _quiet(self) -> None:
        self.network.simulator.run()
        self.expected.quiet()

    def _matches(self, event: int, ids: Iterable[Hashable]) -> set[Hashable]:
        rows: list[int] = sorted(ids)  # type: ignore[arg-type]
        does = self.network.balls.matches(event, rows) if rows else []
        return {row for row, matches in zip(rows, does, strict=True) if matches}
