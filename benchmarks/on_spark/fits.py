"""Seconds of `fit`, and of its parts.

The timer holds all from the call of `fit` to the model, with reading the subscriptions from
Parquet. Parts come from `model.fitMetrics`: `parse` and `index` are sums over tasks, of which two
run at a time, `encode` is the time in which they were done, shuffle included, and `merge` the one
task after them. They are those of the median fit.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.harness import Value
from benchmarks.on_spark.answers import agreed, chosen_by_where, digest
from benchmarks.on_spark.environment import BOXES, Environment, Fitted, Form

__all__ = ["KEYS", "PARTS", "keys", "results", "run"]

PARTS = {
    "parse": "to parse, both cores added up",
    "index": "to index and write parts, both cores added up",
    "encode": "until all parts were written",
    "merge": "to make one segment of them",
}


def keys(name: str, text: str) -> dict[str, str]:
    """The keys of a fit, with a line for people."""
    parts = {f"{name}_{part}_s": f"of them {line}" for part, line in PARTS.items()}
    return {f"{name}_s": f"seconds to fit {text}", **parts}


def results(name: str, fitted: Fitted) -> dict[str, Value]:
    """What these keys are for one fit."""
    parts = {f"{name}_{part}_s": round(fitted.parts[part], 1) for part in PARTS}
    return {f"{name}_s": round(fitted.seconds, 1), **parts}


@dataclass(frozen=True, slots=True)
class _Case:
    """A workload, its subscriptions by their name in `Sizes`, and how often they are fitted."""

    workload: str
    stored: str
    form: Form
    repeats: int
    text: str


_CASES = {
    "fit_1m": _Case(BOXES, "stored", "predicates", 3, "1M predicates of uniform-boxes-4"),
    "fit_1m_alerts": _Case("alerts", "stored", "predicates", 3, "1M predicates of alerts"),
    "fit_10m_ranges": _Case(BOXES, "many", "ranges", 1, "10M boxes given as columns"),
}
_CHECKED = 500  # alerts that Spark's `where` is asked
_CHECKED_EVENTS = 100_000

KEYS = {key: line for name, case in _CASES.items() for key, line in keys(name, case.text).items()}
KEYS |= {
    "answers_alerts_pairs": "pairs of some alerts, by Spark's where and by covey",
    "answers_alerts_hash": "sum of xxhash64(event_id, id) over these, the same by both",
}


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """All that is asked for, fit by fit."""
    found: dict[str, Value] = {}
    for name, case in _CASES.items():
        if keys(name, case.text).keys() & only:
            stored = getattr(environment.sizes, case.stored)
            fits = [environment.fit(case.workload, stored, case.form) for _ in range(case.repeats)]
            median = sorted(fits, key=lambda fitted: fitted.seconds)[len(fits) // 2]
            found |= results(name, median)
    if any("alerts" in key for key in only):
        found |= _alerts(environment)
    return found


def _alerts(environment: Environment) -> dict[str, Value]:
    """What a sample of the alerts matches, by `where` and by the model."""
    stored = environment.sizes.stored
    step = max(1, stored // _CHECKED)
    events = environment.tables.events("alerts", min(_CHECKED_EVENTS, stored))
    some = environment.tables.predicates("alerts", stored).where(f"id % {step} = 0")
    ours = environment.fitted("alerts", stored).transform(events, "pairs").where(f"id % {step} = 0")
    same = agreed("alerts", digest(ours), chosen_by_where(events, some))
    return {"answers_alerts_pairs": same.pairs, "answers_alerts_hash": str(same.hash)}
