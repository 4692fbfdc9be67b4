"""Time of a first start from topics only, and of a recovery after a kill.

A first start has subscriptions on the control topic, a few waiting events, and no state. Its time
is from the start of the process to the append time of the first notification. A recovery is under
load: the Python process of the driver is killed and started again at once (repeatedly, if it ends
because the killed one still holds the folder). Notifications that the JVM of the killed
driver still writes do not count, nor do repeated ones: the time is from the kill to the end of the
longest pause between new notifications.
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
    "cold_start_s": "seconds from a first start with 1M to the first notification",
    "bare_cold_start_s": "seconds from a first start to the first notification, bare",
    "recovery_s": "seconds from kill -9 and restart of the driver to the next new notification",
    "bare_recovery_s": "seconds from kill -9 and restart to the next new notification, bare",
}
_WAITING = 1_000  # events that wait for a first start
_BEFORE_S = 10.0  # notifications are read from this time before a kill
_AFTER_S = 5.0  # and until this time after a recovery
_PAUSE_S = 2.0  # a JVM without a driver ends within this time
_AGAIN_S = 0.2  # delay of a repeated start


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """Return the medians over turns of a first start and a kill of each pipeline."""
    prefixes = {BARE: "bare_", COVEY: ""}
    names = [name for name, prefix in prefixes.items() if _keys(prefix) & only]
    times: dict[str, list[float]] = {key: [] for name in names for key in _keys(prefixes[name])}
    for turn in range(environment.sizes.turns):
        for name in names:
            first, recovered = _started_and_killed(environment, environment.pipeline(name))
            times[f"{prefixes[name]}cold_start_s"].append(first)
            times[f"{prefixes[name]}recovery_s"].append(recovered)
            say(
                f"start {turn + 1}/{environment.sizes.turns} {name}: "
                f"cold {first:.1f} s, after a kill {recovered:.1f} s"
            )
    return {key: round(statistics.median(seconds), 1) for key, seconds in times.items()}


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
    """Remove the state of a pipeline, and fill its topic with a few events."""
    environment.forget(pipeline)
    values = boxes.events(_WAITING, np.random.default_rng(2))
    environment.topics.fill_events([pipeline.events], values, _WAITING)


def cold(environment: Environment, pipeline: Pipeline, process: Process) -> float:
    """Start a process, and return the seconds to the append time of its first notification."""
    before = environment.topics.ends(pipeline.notifications)
    start = time.time()
    process.start()
    environment.wait_for_first(pipeline, process, sum(before.values()))
    append_times = [
        message.timestamp()[1] / 1000
        for messages in environment.topics.read(pipeline.notifications, before)
        for message in messages
    ]
    return float(min(append_times)) - start


def _restarted(environment: Environment, pipeline: Pipeline, process: Process) -> None:
    """Start a killed pipeline, and wait until notifications arrive after a pause."""
    process.start()
    size, since, attempts = -1, time.monotonic(), 1

    def writes_again() -> bool:
        nonlocal size, since, attempts
        if not process.is_running:
            time.sleep(_AGAIN_S)
            process.start()
            attempts += 1
        new_size, previous_size = environment.topics.size(pipeline.notifications), size
        if new_size == size:
            return False
        pause_s, size, since = time.monotonic() - since, new_size, time.monotonic()
        return previous_size >= 0 and pause_s > _PAUSE_S

    environment.wait(process, writes_again)
    if attempts > 1:
        say(f"pipeline {pipeline.name} was started {attempts} times until it kept running")


def _recovered(environment: Environment, pipeline: Pipeline, killed: float) -> float:
    """Return the seconds from a kill to the end of the longest pause between new notifications."""
    topics, first = environment.topics, dict[bytes, int]()
    start = topics.at(pipeline.notifications, int((killed - _BEFORE_S) * 1000))
    for messages in topics.read(pipeline.notifications, start):
        for message in messages:
            notification = message.value().split(b'"', 4)[3] + message.key()
            append_time = message.timestamp()[1]
            first[notification] = min(append_time, first.get(notification, append_time))
    times = np.unique(np.array([*first.values(), int(killed * 1000)]))
    times = times[times >= int(killed * 1000)]
    ends = times[1:][np.diff(times).argmax()]
    return float(ends) / 1000 - killed
