"""How long a start takes: the first one, from topics alone, and one after a kill.

A first start finds subscriptions on the control topic, a few events that wait, and nothing kept;
its time is from the start of the process to the append time of the first notification. A recovery
is under load: the Python process of the driver is killed and started again at once (and again,
should it end because the killed one still has the folder). What its JVM still writes does not
count, nor what is repeated: the time is from the kill to the end of the longest pause between new
notifications.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from benchmarks.harness import Value
from benchmarks.on_kafka import boxes
from benchmarks.on_kafka.environment import Environment, say
from benchmarks.on_kafka.pipelines import BARE, COVEY, Pipeline
from benchmarks.on_kafka.processes import Process

__all__ = ["KEYS", "cold", "run", "waiting"]

KEYS = {
    "cold_start_s": "from the start with 1M subscriptions on a topic to the first notification",
    "bare_cold_start_s": "the same of the bare pipeline",
    "recovery_s": "from kill -9 of the driver, started again, to the next new notification",
    "bare_recovery_s": "the same of the bare pipeline",
}
_WAITING = 1_000  # events
_BEFORE_S = 10.0  # of notifications that are read from before a kill
_AFTER_S = 5.0  # of notifications that are read after a recovery
_PAUSE_S = 2.0  # a JVM without a driver has ended by then
_AGAIN_S = 0.2


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """Starts and kills in turns, and medians over them."""
    prefixes = {BARE: "bare_", COVEY: ""}
    names = [name for name, prefix in prefixes.items() if _keys(prefix) & only]
    taken: dict[str, list[float]] = {key: [] for name in names for key in _keys(prefixes[name])}
    for turn in range(environment.sizes.turns):
        for name in names:
            first, recovered = _started_and_killed(environment, environment.pipeline(name))
            taken[f"{prefixes[name]}cold_start_s"].append(first)
            taken[f"{prefixes[name]}recovery_s"].append(recovered)
            say(
                f"start {turn + 1}/{environment.sizes.turns} {name}: "
                f"cold {first:.1f} s, after a kill {recovered:.1f} s"
            )
    return {key: round(statistics.median(seconds), 1) for key, seconds in taken.items()}


def _keys(prefix: str) -> set[str]:
    return {f"{prefix}cold_start_s", f"{prefix}recovery_s"}


def _started_and_killed(environment: Environment, pipeline: Pipeline) -> tuple[float, float]:
    waiting(environment, pipeline)
    process = pipeline.process()
    try:
        first = cold(environment, pipeline, process)
        with environment.loaded(pipeline):
            time.sleep(environment.sizes.before_kill_s)
            killed = time.time()
            process.kill()
            _restarted(environment, pipeline, process)
            time.sleep(_AFTER_S)
    finally:
        process.stop()
    recovered = _recovered(environment, pipeline, killed)
    environment.forget(pipeline)
    return first, recovered


def waiting(environment: Environment, pipeline: Pipeline) -> None:
    """Nothing is kept, and a few events wait."""
    environment.forget(pipeline)
    values = boxes.events(_WAITING, np.random.default_rng(2))
    environment.topics.fill_events([pipeline.events], values, _WAITING)


def cold(environment: Environment, pipeline: Pipeline, process: Process) -> float:
    """Seconds from the start of a process to the append time of its first notification."""
    before = environment.topics.ends(pipeline.notifications)
    start = time.time()
    process.start()
    environment.wait_for_first(pipeline, process, sum(before.values()))
    written = [
        message.timestamp()[1] / 1000
        for messages in environment.topics.read(pipeline.notifications, before)
        for message in messages
    ]
    return float(min(written)) - start


def _restarted(environment: Environment, pipeline: Pipeline, process: Process) -> None:
    """Starts it, until notifications come after a pause."""
    process.start()
    size, since, attempts = -1, time.monotonic(), 1

    def writes_again() -> bool:
        nonlocal size, since, attempts
        if not process.is_running:
            time.sleep(_AGAIN_S)
            process.start()
            attempts += 1
        now, then = environment.topics.size(pipeline.notifications), size
        if now == size:
            return False
        paused, size, since = time.monotonic() - since, now, time.monotonic()
        return then >= 0 and paused > _PAUSE_S

    environment.wait(process, writes_again)
    if attempts > 1:
        say(f"{pipeline.name} was started {attempts} times before it stayed")


def _recovered(environment: Environment, pipeline: Pipeline, killed: float) -> float:
    """Seconds from a kill to the end of the longest pause between new notifications after it."""
    topics, first = environment.topics, dict[bytes, int]()
    start = topics.at(pipeline.notifications, int((killed - _BEFORE_S) * 1000))
    for messages in topics.read(pipeline.notifications, start):
        for message in messages:
            told = message.value().split(b'"', 4)[3] + message.key()
            when = message.timestamp()[1]
            first[told] = min(when, first.get(told, when))
    times = np.unique(np.array([*first.values(), int(killed * 1000)]))
    times = times[times >= int(killed * 1000)]
    ends = times[1:][np.diff(times).argmax()]
    return float(ends) / 1000 - killed
