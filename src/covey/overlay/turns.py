"""A random run of any network: what happens next, how far messages get, and what it came to."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from typing import Protocol

from covey.overlay.faults import Faults
from covey.overlay.outcome import Expected, Outcome
from covey.overlay.simulator import Name, Simulator

__all__ = ["FAULTS", "Run", "carried_out"]

FAULTS = Faults(lost=0.1, twice=0.1)
"""Those of runs with faults."""

_QUIET = 0.15  # the chance that all messages arrive before the next thing happens
_STEPS, _DOWN_S = 30, 20.0  # otherwise so many steps at most; of a crash likewise


class Network(Protocol):
    """What both kinds of networks have."""

    simulator: Simulator

    @property
    def delivered(self) -> Sequence[tuple[int, Hashable]]:
        """Events and who heard of them."""
        ...


class Run(Protocol):
    """What can happen to a network; each does nothing where it cannot."""

    random: random.Random
    expected: Expected

    @property
    def network(self) -> Network:
        """What is run."""
        ...

    def join(self) -> None: ...
    def leave(self) -> None: ...
    def subscribe(self) -> None: ...
    def cancel(self) -> None: ...
    def publish(self) -> None: ...
    def member(self) -> Name:
        """A node of the network, at random."""
        ...

    def quiet(self) -> None:
        """All messages arrive."""
        ...


def carried_out(run: Run, weights: Sequence[int], steps: int, faults: bool) -> Outcome:
    """So many things at random, then some events when all is quiet, and what all of it came to.

    Weights are of a join, a leave, a subscription, a cancellation, an event and a crash.
    """
    simulator = run.network.simulator

    def crash() -> None:
        if faults:
            simulator.crash(run.member(), _DOWN_S * run.random.random())

    acts = [run.join, run.leave, run.subscribe, run.cancel, run.publish, crash]
    for _ in range(steps):
        (act,) = run.random.choices(acts, weights)
        act()
        if run.random.random() < _QUIET:
            run.quiet()
        else:
            simulator.run(run.random.randrange(_STEPS))
    run.quiet()
    for _ in range(steps // 4):
        run.publish()
        run.quiet()
    return run.expected.outcome(run.network.delivered, sum(simulator.sent.values()))
