"""Random runs of a CAN: nodes join and leave, subscriptions come and go, events pass among them."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from covey.errors import InvalidArgumentError
from covey.overlay.can.network import BallWorkload, CanNetwork
from covey.overlay.can.paper_rules import PaperSmartSeats
from covey.overlay.can.projection import CubeProjection
from covey.overlay.can.seats import Seats
from covey.overlay.delivery_oracle import DeliveryOracle, TrialOutcome
from covey.overlay.random_run import TRIAL_FAULTS, run_random_trial
from covey.overlay.simulator import NodeName

__all__ = ["CanTrial"]

_MAX_NODES, _MAX_RADIUS = 16, 0.5
_WEIGHTS = (12, 6, 25, 15, 35, 7)


@dataclass(frozen=True, slots=True)
class CanTrial:
    """One run. The same trial is the same run, message for message.

    >>> CanTrial(seed=1).run().is_correct
    True
    """

    seed: int
    smart: bool = True
    uses_paper_rules: bool = False
    with_faults: bool = False
    steps: int = 150

    def run(self) -> TrialOutcome:
        """All of it, and then some events when all is quiet."""
        if self.uses_paper_rules and not self.smart:
            raise InvalidArgumentError("the printed rules are those of SMART: PURE has no others")
        return _CanRun(self).run()


class _CanRun:
    def __init__(self, trial: CanTrial) -> None:
        self.random = random.Random(trial.seed)
        k, d = self.random.randint(1, 3), self.random.randint(2, 6)
        balls = BallWorkload.build_random(trial.steps, 2 * trial.steps, d, _MAX_RADIUS, trial.seed)
        self.network = CanNetwork(
            balls,
            CubeProjection.build_random(k, d, max_radius=_MAX_RADIUS, seed=trial.seed),
            smart=trial.smart,
            make_seats=PaperSmartSeats if trial.uses_paper_rules else Seats,
            seed=trial.seed,
            faults=TRIAL_FAULTS if trial.with_faults else None,
        )
        self.oracle = DeliveryOracle(self._find_matches)
        self.trial, self.node_by_subscription = trial, dict[int, NodeName]()
        self.subscription_count = self.event_count = 0

    def run(self) -> TrialOutcome:
        return run_random_trial(
            self, _WEIGHTS, self.trial.steps, with_faults=self.trial.with_faults
        )

    def join(self) -> None:
        if len(self.network.members) < _MAX_NODES:
            self.network.join(self.pick_member(), self.random)

    def leave(self) -> None:
        """Leaves are one at a time."""
        if len(self.network.members) > 2:
            self.drain()
            self.network.leave(self.pick_member())

    def subscribe(self) -> None:
        id_ = self.subscription_count
        self.subscription_count += 1
        self.node_by_subscription[id_] = self.pick_member()
        self.oracle.subscribe(id_)
        self.network.subscribe(self.node_by_subscription[id_], id_)

    def cancel(self) -> None:
        if live := self.oracle.live_subscriptions:
            id_ = self.random.choice(live)
            self.oracle.cancel(id_)
            self.network.unsubscribe(self.node_by_subscription[id_], id_)  # type: ignore[index,arg-type]

    def publish(self) -> None:
        self.oracle.mark_settled(self.network.acknowledged_ids)
        self.oracle.publish(self.event_count)
        self.network.publish(self.pick_member(), self.event_count)
        self.event_count += 1

    def pick_member(self) -> NodeName:
        return self.random.choice(self.network.members)

    def drain(self) -> None:
        self.network.simulator.run()
        self.oracle.clear_in_flight()

    def _find_matches(self, event: int, ids: Iterable[Hashable]) -> set[Hashable]:
        rows: list[int] = sorted(ids)  # type: ignore[arg-type]
        does = self.network.workload.match_rows(event, rows) if rows else []
        return {row for row, matches in zip(rows, does, strict=True) if matches}
