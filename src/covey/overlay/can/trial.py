"""Random runs of a CAN, compared with brute force."""

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
    """One random run of a CAN. Equal trials make the same run, message for message.

    Args:
        seed: seed of all random choices.
        smart: whether replication is SMART; otherwise it is PURE.
        uses_paper_rules: whether seats follow the rules of SMART in the paper, which lose events.
        with_faults: whether packets are lost and duplicated, and nodes crash.
        steps: number of random actions.

    >>> CanTrial(seed=1).run().is_correct
    True
    """

    seed: int
    smart: bool = True
    uses_paper_rules: bool = False
    with_faults: bool = False
    steps: int = 150

    def run(self) -> TrialOutcome:
        """Carry out the run, and return the differences from brute force, as counts.

        Raises:
            InvalidArgumentError: `uses_paper_rules` without `smart`.
        """
        if self.uses_paper_rules and not self.smart:
            raise InvalidArgumentError(
                "the rules of the paper (uses_paper_rules) exist only for SMART replication: set "
                "smart=True"
            )
        return _CanRun(self).run()


class _CanRun:
    """The network, the oracle and the random actions of one trial."""

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
        """Carry out the run, and return the comparison with brute force."""
        return run_random_trial(
            self, _WEIGHTS, self.trial.steps, with_faults=self.trial.with_faults
        )

    def join(self) -> None:
        """Add a node in the zone at a random point, unless there are `_MAX_NODES` nodes."""
        if len(self.network.members) < _MAX_NODES:
            self.network.join(self.pick_member(), self.random)

    def leave(self) -> None:
        """Let a random node leave after all messages have arrived, as leaves must not overlap."""
        if len(self.network.members) > 2:
            self.drain()
            self.network.leave(self.pick_member())

    def subscribe(self) -> None:
        """Add a subscription for the next ball at a random node."""
        id_ = self.subscription_count
        self.subscription_count += 1
        self.node_by_subscription[id_] = self.pick_member()
        self.oracle.subscribe(id_)
        self.network.subscribe(self.node_by_subscription[id_], id_)

    def cancel(self) -> None:
        """Cancel a random live subscription, if there is one."""
        if live := self.oracle.live_subscriptions:
            id_ = self.random.choice(live)
            self.oracle.cancel(id_)
            self.network.unsubscribe(self.node_by_subscription[id_], id_)  # type: ignore[index,arg-type]

    def publish(self) -> None:
        """Publish the next event at a random node.

        First mark the acknowledged subscriptions as settled, so that the oracle expects their
        notifications.
        """
        self.oracle.mark_settled(self.network.acknowledged_ids)
        self.oracle.publish(self.event_count)
        self.network.publish(self.pick_member(), self.event_count)
        self.event_count += 1

    def pick_member(self) -> NodeName:
        """Return a random node."""
        return self.random.choice(self.network.members)

    def drain(self) -> None:
        """Run until all messages have arrived."""
        self.network.simulator.run()
        self.oracle.clear_in_flight()

    def _find_matches(self, event: int, ids: Iterable[Hashable]) -> set[Hashable]:
        """Return which of the given subscriptions match an event, by comparing every ball."""
        rows: list[int] = sorted(ids)  # type: ignore[arg-type]
        matches = self.network.workload.match_rows(event, rows) if rows else []
        return {row for row, is_match in zip(rows, matches, strict=True) if is_match}
