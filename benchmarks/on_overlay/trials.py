"""Random runs of networks with faults, and runs with the rules of the papers, which lose events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.harness import Value, progress
from covey.overlay import BrokerTrial, CanTrial, TrialOutcome
from covey.routing.strategies import STRATEGIES

__all__ = ["KEYS", "run"]

_RUNS, _PRINTED = 2_400, 400
_KINDS: list[Callable[[int], Any]] = [
    lambda seed: CanTrial(seed, smart=True, with_faults=True),
    lambda seed: CanTrial(seed, smart=False, with_faults=True),
    lambda seed: BrokerTrial(seed, requires_announcements=True, with_faults=True),
    *(
        lambda seed, name=name: BrokerTrial(seed, strategy=name, with_faults=True)
        for name in STRATEGIES
    ),
]

KEYS = {
    "trials": f"random runs with faults, {len(_KINDS)} kinds of networks in turns",
    "trials_lost": "lost notifications of these runs: should be 0",
    "trials_invented": "spurious notifications of these runs: should be 0",
    "trials_notifications": "notifications of these runs",
    "printed_can_lost": f"notifications lost by the published rules of SMART in {_PRINTED} runs",
    "printed_brokers_lost": f"notifications lost with one table for all links in {_PRINTED} runs",
}


def run(setting: object, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of all runs; `covey research simulate` repeats the run of a seed."""
    outcomes = _all("trials", _RUNS, lambda seed: _KINDS[seed % len(_KINDS)](seed))
    can = _all("printed CAN", _PRINTED, lambda seed: CanTrial(seed, uses_paper_rules=True))
    brokers = _all(
        "printed brokers", _PRINTED, lambda seed: BrokerTrial(seed, uses_paper_rules=True)
    )
    return {
        "trials": len(outcomes),
        "trials_lost": sum(outcome.lost for outcome in outcomes),
        "trials_invented": sum(outcome.invented for outcome in outcomes),
        "trials_notifications": sum(outcome.notifications for outcome in outcomes),
        "printed_can_lost": sum(outcome.lost for outcome in can),
        "printed_brokers_lost": sum(outcome.lost for outcome in brokers),
    }


def _all(label: str, count: int, trial: Callable[[int], Any]) -> list[TrialOutcome]:
    outcomes = []
    for seed in range(count):
        progress(seed, count, label)
        outcomes.append(trial(seed).run())
    progress(count, count, label)
    return outcomes
