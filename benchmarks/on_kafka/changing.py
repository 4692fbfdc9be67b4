"""Cost of one batch of changes in the driver, by the number of subscriptions.

The load is 500 changes/s and the usual events. The cost is read from covey's log of each batch: it
is the time of all steps for changes, from reading the control topic to the batch decision. The
result is the median over all batches with changes, which have about 150 to 300 changes each.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator

from benchmarks.harness import Value
from benchmarks.on_kafka.environment import Environment, say
from benchmarks.on_kafka.pipelines import COVEY, Pipeline

__all__ = ["KEYS", "run"]

_NAMES = ("10k", "100k", "1m")
KEYS = {
    f"change_ms_{name}": f"ms of the driver for a batch of changes, {name} subscriptions"
    for name in _NAMES
}
COUNT, COST = "changes", "decide_ms"  # fields of a line of covey's log


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of one new pipeline for each number of subscriptions."""
    counts = dict(
        zip(_NAMES, (*environment.sizes.fewer, environment.sizes.subscriptions), strict=True)
    )
    results: dict[str, Value] = {}
    for name, count in counts.items():
        key = f"change_ms_{name}"
        if key in only:
            results[key] = _cost(environment, environment.pipeline(COVEY, count))
            say(f"{count:,} subscriptions: {results[key]} ms for a batch of changes")
    return results


def _cost(environment: Environment, pipeline: Pipeline) -> float:
    environment.forget(pipeline)
    process, before = pipeline.process(), environment.topics.size(pipeline.notifications)
    try:
        process.start()
        with environment.loaded(pipeline):
            environment.wait_for_first(pipeline, process, before)
            time.sleep(environment.sizes.warm_s)
            log_length = len(process.said())
            time.sleep(environment.sizes.changing_s)
        costs = list(_costs(process.said()[log_length:]))
    finally:
        process.stop()
    environment.forget(pipeline)
    if not costs:
        raise RuntimeError(f"no line of covey's log has the fields {COUNT} and {COST}")
    return round(statistics.median(costs), 2)


def _costs(text: str) -> Iterator[float]:
    """Yield the cost in ms of each batch with changes, from lines of JSON; skip other lines.

    >>> list(_costs('{"changes": 250, "decide_ms": 9.5}\\n{"changes": 0}\\nnone of them\\n'))
    [9.5]
    """
    for line in text.splitlines():
        try:
            fields = json.loads(line)
        except ValueError:
            continue
        if isinstance(fields, dict) and fields.get(COUNT) and COST in fields:
            yield float(fields[COST])
