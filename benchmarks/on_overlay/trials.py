"""Random runs of networks with faults, and of the rules as printed."""

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
    "trials_lost": "notifications that were lost in them",
    "trials_invented": "notifications that were invented",
    "trials_notifications": "notifications in all",
    "printed_can_lost": f"lost by the printed rules of SMART in {_PRINTED} runs without faults",
    "printed_brokers_lost": f"lost where covering is decided for all links, in {_PRINTED} runs",
}


def run(setting: object, only: frozenset[str]) -> dict[str, Value]:
    """Each seed can be run again: `covey research simulate`."""
    found = _all("trials", _RUNS, lambda seed: _KINDS[seed % len(_KINDS)](seed))
    can = _all("printed CAN", _PRINTED, lambda seed: CanTrial(seed, uses_paper_rules=True))
    brokers = _all(
        "printed brokers", _PRINTED, lambda seed: BrokerTrial(seed, uses_paper_rules=True)
    )
    return {
        "trials": len(found),
        "trials_lost": sum(one.lost for one in found),
        "trials_invented": sum(one.invented for one in found),
        "trials_notifications": sum(one.notifications for one in found),
        "printed_can_lost": sum(one.lost for one in can),
        "printed_brokers_lost": sum(one.lost for one in brokers),
    }


def _all(label: str, count: int, trial: Callable[[int], Any]) -> list[TrialOutcome]:
    found = []
    for seed in range(count):
        progress(seed, count, label)
        found.append(trial(seed).run())
    progress(count, count, label)
    return found
