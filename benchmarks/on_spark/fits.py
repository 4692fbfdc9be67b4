"""Seconds of `fit` and of its parts.

The time is from the call of `fit` to the model, and includes reading the subscriptions from Parquet
files. The parts are in `model.fitMetrics`: `parse` and `index` are sums over tasks, of which two
run at a time; `encode` is the elapsed time of these tasks, with the shuffle; `merge` is the single
task after them. The parts are those of the median fit.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.harness import Value
from benchmarks.on_spark.answers import agreed, chosen_by_where, digest
from benchmarks.on_spark.environment import BOXES, Environment, Fitted, Form

__all__ = ["KEYS", "PARTS", "keys", "results", "run"]

PARTS = {
    "parse": "to parse, sum over both cores",
    "index": "to index and write segments, sum over both cores",
    "encode": "until all segments are written",
    "merge": "to merge them into one segment",
}


def keys(name: str, text: str) -> dict[str, str]:
    """Return the keys of a fit with their descriptions."""
    parts = {f"{name}_{part}_s": f"fit of {text}: seconds {line}" for part, line in PARTS.items()}
    return {f"{name}_s": f"seconds to fit {text}", **parts}


def results(name: str, fitted: Fitted) -> dict[str, Value]:
    """Return the results of one fit by the keys of `keys`."""
    parts = {f"{name}_{part}_s": round(fitted.parts[part], 1) for part in PARTS}
    return {f"{name}_s": round(fitted.seconds, 1), **parts}


@dataclass(frozen=True, slots=True)
class _Case:
    """A workload with its form, its field of `Sizes`, and its number of fits."""

    workload: str
    stored: str
    form: Form
    repeats: int
    text: str


_CASES = {
    "fit_1m": _Case(BOXES, "stored", "predicates", 3, "1M predicates of uniform-boxes-4"),
    "fit_1m_alerts": _Case("alerts", "stored", "predicates", 3, "1M predicates of alerts"),
    "fit_10m_ranges": _Case(BOXES, "many", "ranges", 1, "10M boxes, as columns"),
}
_CHECKED = 500  # alerts that are compared with Spark's `where`
_CHECKED_EVENTS = 100_000

KEYS = {key: line for name, case in _CASES.items() for key, line in keys(name, case.text).items()}
KEYS |= {
    "answers_alerts_pairs": "pairs of a sample of alerts, equal for Spark's where and covey",
    "answers_alerts_hash": "sum of xxhash64(event_id, id) over these pairs, equal for both",
}


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of all fits that have a key in `only`."""
    measured: dict[str, Value] = {}
    for name, case in _CASES.items():
        if keys(name, case.text).keys() & only:
            stored = getattr(environment.sizes, case.stored)
            fits = [environment.fit(case.workload, stored, case.form) for _ in range(case.repeats)]
            median = sorted(fits, key=lambda fitted: fitted.seconds)[len(fits) // 2]
            measured |= results(name, median)
    if any("alerts" in key for key in only):
        measured |= _alerts(environment)
    return measured


def _alerts(environment: Environment) -> dict[str, Value]:
    """Compare the pairs of a sample of the alerts with those of `where`, and return them."""
    stored = environment.sizes.stored
    step = max(1, stored // _CHECKED)
    events = environment.tables.events("alerts", min(_CHECKED_EVENTS, stored))
    sample = environment.tables.predicates("alerts", stored).where(f"id % {step} = 0")
    ours = environment.fitted("alerts", stored).transform(events, "pairs").where(f"id % {step} = 0")
    same = agreed("alerts", digest(ours), chosen_by_where(events, sample))
    return {"answers_alerts_pairs": same.pairs, "answers_alerts_hash": str(same.hash)}
