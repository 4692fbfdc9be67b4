"""Highest event rate: both pipelines drain the same backlog of events, one at a time, in turns.

A topic is filled with the backlog while its pipeline is not running. Then the pipeline starts,
while subscriptions change. The number of notifications is read from the server ten times a second.
The first part of the backlog is for warm-up. The time is from the end of this part to the last
notification, and includes the pauses between batches. The number of processed events is computed
from the share of notifications that are written.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from benchmarks.harness import Value
from benchmarks.on_kafka import boxes
from benchmarks.on_kafka.environment import Environment, say
from benchmarks.on_kafka.pipelines import BARE, COVEY, Pipeline

__all__ = ["KEYS", "drained", "run"]

KEYS = {
    "rate_vs_bare": "events/s of a drained backlog, relative to bare, 1M, 500 changes/s",
    "events_per_s": "events/s of a drained backlog, covey",
    "bare_events_per_s": "events/s of a drained backlog, bare pipeline",
}
_DRAWN = 200_000  # different events, which a backlog repeats


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """Return the medians over drains, which the pipelines run in turns."""
    alone = {"bare_events_per_s": [BARE], "events_per_s": [COVEY]}
    names = next((alone[key] for key in only), []) if len(only) == 1 else []
    names = names or [BARE, COVEY]
    rates: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(environment.sizes.turns):
        for name in names:
            rates[name].append(drained(environment, environment.pipeline(name)))
            turns, rate = environment.sizes.turns, rates[name][-1]
            say(f"drain {turn + 1}/{turns} {name}: {rate:,.0f} events/s")
    environment.rates |= {name: statistics.median(values) for name, values in rates.items()}
    keys = {BARE: "bare_events_per_s", COVEY: "events_per_s"}
    results: dict[str, Value] = {keys[name]: round(environment.rates[name]) for name in names}
    if len(names) == 2:
        results["rate_vs_bare"] = round(environment.rates[COVEY] / environment.rates[BARE], 3)
    return results


def drained(environment: Environment, pipeline: Pipeline) -> float:
    """Drain a backlog and return the events per second after its warm-up part."""
    topics, sizes, process = environment.topics, environment.sizes, pipeline.process()
    values = boxes.events(_DRAWN, np.random.default_rng(1))
    topics.fill_events([pipeline.events], values, sizes.backlog)
    before = topics.size(pipeline.notifications)
    counts: list[tuple[float, int]] = []

    def count() -> int:
        written = topics.size(pipeline.notifications) - before
        counts.append((time.monotonic(), written))
        return written

    try:
        process.start()
        with environment.loaded(pipeline, events_per_s=0):
            environment.wait_until_written(process, sizes.backlog, count)
    finally:
        process.stop()
    for name in pipeline.topics:
        topics.empty(name)
    return _rate(counts, sizes.backlog, sizes.warm_share)


def _rate(counts: list[tuple[float, int]], backlog: int, warm: float) -> float:
    """Return the events per second between the warm-up share of notifications and the last one.

    `counts` are times in seconds with numbers of written notifications.

    >>> _rate([(0.0, 0), (1.0, 30), (2.0, 60), (3.0, 90), (4.0, 90)], 9, 1 / 3)
    3.0
    """
    total = counts[-1][1]
    start, first = next((when, size) for when, size in counts if size >= warm * total)
    end = next(when for when, size in counts if size == total)
    return (total - first) / total * backlog / (end - start)
