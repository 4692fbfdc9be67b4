"""A random run of any network: what happens next, how far messages get, and what it came to."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from typing import Protocol

from covey.overlay.delivery_oracle import DeliveryOracle, TrialOutcome
from covey.overlay.faults import Faults
from covey.overlay.simulator import NodeName, Simulator

__all__ = ["TRIAL_FAULTS", "RandomRun", "run_random_trial"]

TRIAL_FAULTS = Faults(loss_probability=0.1, duplicate_probability=0.1)
"""Those of runs with faults."""

_DRAIN_PROBABILITY = 0.15  # the chance that all messages arrive before the next thing happens
_MAX_STEPS_BETWEEN, _MAX_CRASH_DURATION = (
    30,
    20.0,
)  # otherwise so many steps at most; of a crash likewise


class SimulatedNetwork(Protocol):
    """What both kinds of networks have."""

    simulator: Simulator

    @property
    def deliveries(self) -> Sequence[tuple[int, Hashable]]:
        """Events and who heard of them."""
        ...


class RandomRun(Protocol):
    """What can happen to a network; each does nothing where it cannot."""

    random: random.Random
    oracle: DeliveryOracle

    @property
    def network(self) -> SimulatedNetwork:
        """What is run."""
        ...

    def join(self) -> None: ...
    def leave(self) -> None: ...
    def subscribe(self) -> None: ...
    def cancel(self) -> None: ...
    def publish(self) -> None: ...
    def pick_member(self) -> NodeName:
        """A node of the network, at random."""
        ...

    def drain(self) -> None:
        """All messages arrive."""
        ...


def run_random_trial(
    run: RandomRun, weights: Sequence[int], steps: int, *, with_faults: bool
) -> TrialOutcome:
    """So many things at random, then some events when all is quiet, and what all of it came to.

    Weights are of a join, a leave, a subscription, a cancellation, an event and a crash.
    """
    simulator = run.network.simulator

    def crash() -> None:
        if with_faults:
            simulator.crash(run.pick_member(), _MAX_CRASH_DURATION * run.random.random())

    acts = [run.join, run.leave, run.subscribe, run.cancel, run.publish, crash]
    for _ in range(steps):
        (act,) = run.random.choices(acts, weights)
        act()
        if run.random.random() < _DRAIN_PROBABILITY:
            run.drain()
        else:
            simulator.run(run.random.randrange(_MAX_STEPS_BETWEEN))
    run.drain()
    for _ in range(steps // 4):
        run.publish()
        run.drain()
    return run.oracle.evaluate(run.network.deliveries, sum(simulator.sent_counts.values()))
