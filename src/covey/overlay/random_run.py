"""A random run of any network: random actions, between which some messages are delivered."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from typing import Protocol

from covey.overlay.delivery_oracle import DeliveryOracle, TrialOutcome
from covey.overlay.faults import Faults
from covey.overlay.simulator import NodeName, Simulator

__all__ = ["TRIAL_FAULTS", "RandomRun", "run_random_trial"]

TRIAL_FAULTS = Faults(loss_probability=0.1, duplicate_probability=0.1)
"""Probabilities of lost and duplicated packets in trials with faults."""

_DRAIN_PROBABILITY = 0.15  # probability that all messages arrive before the next action
_MAX_STEPS_BETWEEN = 30  # otherwise, the simulator makes fewer steps than this between two actions
_MAX_CRASH_DURATION = 20.0  # in mean delays of a packet


class SimulatedNetwork(Protocol):
    """The part of a network that a random run uses."""

    simulator: Simulator

    @property
    def deliveries(self) -> Sequence[tuple[int, Hashable]]:
        """Pairs of an event number and the id of a notified subscription."""
        ...


class RandomRun(Protocol):
    """The actions of a random run; an action that is not possible does nothing."""

    random: random.Random
    oracle: DeliveryOracle

    @property
    def network(self) -> SimulatedNetwork:
        """The network on which actions are carried out."""
        ...

    def join(self) -> None:
        """Add a node, unless there are enough."""
        ...

    def leave(self) -> None:
        """Remove a random node, unless too few would remain."""
        ...

    def subscribe(self) -> None:
        """Add one or more random subscriptions at a random node."""
        ...

    def cancel(self) -> None:
        """Cancel a random subscription."""
        ...

    def publish(self) -> None:
        """Publish a random event at a random node."""
        ...

    def pick_member(self) -> NodeName:
        """Return a random node of the network."""
        ...

    def drain(self) -> None:
        """Run the simulator until all messages have arrived, so that no event is in flight."""
        ...


def run_random_trial(
    run: RandomRun, weights: Sequence[int], steps: int, *, with_faults: bool
) -> TrialOutcome:
    """Carry out random actions, then publish events one by one; return the counts of the oracle.

    Args:
        run: the network with its actions.
        weights: relative frequencies of join, leave, subscribe, cancel, publish and crash.
        steps: number of random actions. Afterwards, a quarter as many events are published; all
            messages about an event arrive before the next one is published.
        with_faults: whether nodes crash; otherwise, the action "crash" does nothing.
    """
    simulator = run.network.simulator

    def crash() -> None:
        """Crash a random node for a random time; do nothing in a run without faults."""
        if with_faults:
            simulator.crash(run.pick_member(), _MAX_CRASH_DURATION * run.random.random())

    actions = [run.join, run.leave, run.subscribe, run.cancel, run.publish, crash]
    for _ in range(steps):
        (action,) = run.random.choices(actions, weights)
        action()
        if run.random.random() < _DRAIN_PROBABILITY:
            run.drain()
        else:
            simulator.run(run.random.randrange(_MAX_STEPS_BETWEEN))
    run.drain()
    for _ in range(steps // 4):
        run.publish()
        run.drain()
    return run.oracle.evaluate(run.network.deliveries, sum(simulator.sent_counts.values()))
