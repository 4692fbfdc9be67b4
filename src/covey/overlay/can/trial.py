"""Random runs of a CAN: nodes join and leave, subscriptions come and go, events pass among them."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from covey.errors import ValueRefused
from covey.overlay.can.cube import Cube
from covey.overlay.can.network import Balls, CanNetwork
from covey.overlay.outcome import Expected, Outcome
from covey.overlay.simulator import Name
from covey.overlay.turns import FAULTS, carried_out

__all__ = ["CanTrial"]

_NODES, _R_MAX = 16, 0.5
_WEIGHTS = (12, 6, 25, 15, 35, 7)


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
        if self.printed and not self.smart:
            raise ValueRefused("the printed rules are those of SMART: PURE has no others")
        return _Run(self).outcome()


class _Run:
    def __init__(self, trial: CanTrial) -> None:
        self.random = random.Random(trial.seed)
        k, d = self.random.randint(1, 3), self.random.randint(2, 6)
        balls = Balls.drawn(trial.steps, 2 * trial.steps, d, _R_MAX, trial.seed)
        self.network = CanNetwork(
            balls, Cube.drawn(k, d, _R_MAX, trial.seed), smart=trial.smart, printed=trial.printed,
            seed=trial.seed, faults=FAULTS if trial.faults else None,
        )  # fmt: skip
        self.expected = Expected(self._matches)
        self.trial, self.at = trial, dict[int, Name]()
        self.subscriptions = self.events = 0

    def outcome(self) -> Outcome:
        return carried_out(self, _WEIGHTS, self.trial.steps, self.trial.faults)

    def join(self) -> None:
        if len(self.network.members) < _NODES:
            self.network.join(self.member(), self.random)

    def leave(self) -> None:
        """Leaves are one at a time."""
        if len(self.network.members) > 2:
            self.quiet()
            self.network.leave(self.member())

    def subscribe(self) -> None:
        id_ = self.subscriptions
        self.subscriptions += 1
        self.at[id_] = self.member()
        self.expected.subscribed(id_)
        self.network.subscribe(self.at[id_], id_)

    def cancel(self) -> None:
        if live := self.expected.live:
            id_ = self.random.choice(live)
            self.expected.cancelled(id_)
            self.network.unsubscribe(self.at[id_], id_)  # type: ignore[index,arg-type]

    def publish(self) -> None:
        self.expected.settled(self.network.settled)
        self.expected.published(self.events)
        self.network.publish(self.member(), self.events)
        self.events += 1

    def member(self) -> Name:
        return self.random.choice(self.network.members)

    def quiet(self) -> None:
        self.network.simulator.run()
        self.expected.quiet()

    def _matches(self, event: int, ids: Iterable[Hashable]) -> set[Hashable]:
        rows: list[int] = sorted(ids)  # type: ignore[arg-type]
        does = self.network.balls.matches(event, rows) if rows else []
        return {row for row, matches in zip(rows, does, strict=True) if matches}
