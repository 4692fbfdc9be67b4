"""Delay of notifications at a steady load.

A delay is the append time of a notification minus that of its event. The pipelines run one at a
time, in turns, and each continues from its checkpoint. A pipeline starts under load, and warms up
for some time after its first notification. Then the window begins, in which delays are measured.
Both get events and changes of subscriptions at the same rates. The bare pipeline ignores the
changes, but they cause the same work for the server and the cores. Topics are read after the
pipeline has ended. Delays are those of all notifications of events that were appended in the
window.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Value
from benchmarks.on_kafka.environment import Environment, say
from benchmarks.on_kafka.pipelines import BARE, COVEY, Pipeline

__all__ = ["KEYS", "Window", "run", "window"]

KEYS = {
    "p50_vs_bare": "median delay over the bare pipeline's, 3,000 events/s, 1M, 500 changes/s",
    "p99_vs_bare": "99th percentile of the delay over the bare pipeline's, same load",
    "p50_ms": "median delay in ms, from append to append",
    "p99_ms": "99th percentile of the delay in ms",
    "bare_p50_ms": "median delay of the bare pipeline in ms",
    "bare_p99_ms": "99th percentile of the delay of the bare pipeline in ms",
    "matches_per_event": "notifications per event, of covey",
}


@dataclass(frozen=True, slots=True)
class Window:
    """Delays of one window, and the number of notifications per event."""

    p50_ms: float
    p99_ms: float
    per_event: float


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """Return the medians over windows, which the pipelines run in turns."""
    alone = {"bare_p50_ms", "bare_p99_ms"}
    names = [BARE] if only <= alone else [COVEY] if only <= {"matches_per_event"} else [BARE, COVEY]
    windows: dict[str, list[Window]] = {name: [] for name in names}
    for turn in range(environment.sizes.windows):
        for name in names:
            measured = window(environment, environment.pipeline(name))
            windows[name].append(measured)
            say(
                f"window {turn + 1}/{environment.sizes.windows} {name}: "
                f"p50 {measured.p50_ms:.0f} ms, p99 {measured.p99_ms:.0f} ms, "
                f"{measured.per_event:.2f} notifications per event"
            )
    results: dict[str, Value] = {}
    medians = {name: _median(measured) for name, measured in windows.items()}
    if BARE in medians:
        results["bare_p50_ms"] = round(medians[BARE].p50_ms, 1)
        results["bare_p99_ms"] = round(medians[BARE].p99_ms, 1)
    if COVEY in medians:
        results["p50_ms"] = round(medians[COVEY].p50_ms, 1)
        results["p99_ms"] = round(medians[COVEY].p99_ms, 1)
        results["matches_per_event"] = round(medians[COVEY].per_event, 3)
    if len(medians) == 2:
        results["p50_vs_bare"] = round(medians[COVEY].p50_ms / medians[BARE].p50_ms, 3)
        results["p99_vs_bare"] = round(medians[COVEY].p99_ms / medians[BARE].p99_ms, 3)
    return results


def window(environment: Environment, pipeline: Pipeline) -> Window:
    """Start a pipeline, measure one window, end the pipeline, and return the delays."""
    topics, sizes, process = environment.topics, environment.sizes, pipeline.process()
    before, events = topics.size(pipeline.notifications), topics.size(pipeline.events)
    try:
        process.start()
        with environment.loaded(pipeline):
            environment.wait_for_first(pipeline, process, before)
            time.sleep(sizes.warm_s)
            start = _now_ms()
            time.sleep(sizes.window_s)
            end = _now_ms()
        environment.wait_until_written(
            process,
            topics.size(pipeline.events) - events,
            lambda: topics.size(pipeline.notifications) - before,
        )
    finally:
        process.stop()
    appended = _appended(environment, pipeline, start, end)
    delays = _delays(environment, pipeline, appended, start)
    for name in pipeline.topics:
        topics.empty(name)
    return delays


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _median(windows: list[Window]) -> Window:
    return Window(
        statistics.median(window.p50_ms for window in windows),
        statistics.median(window.p99_ms for window in windows),
        statistics.median(window.per_event for window in windows),
    )


def _appended(
    environment: Environment, pipeline: Pipeline, start: int, end: int
) -> dict[int, tuple[int, NDArray[np.int64]]]:
    """Return for each partition the first offset in the window, and all append times from there.

    `start` and `end` are times in ms.
    """
    first = environment.topics.at(pipeline.events, start)
    times: dict[int, list[int]] = {partition: [] for partition in first}
    last = environment.topics.at(pipeline.events, end)
    for messages in environment.topics.read(pipeline.events, first, last):
        for message in messages:
            times[message.partition()].append(message.timestamp()[1])
    return {
        partition: (first[partition], np.array(times[partition], np.int64)) for partition in first
    }


def _delays(
    environment: Environment,
    pipeline: Pipeline,
    appended: dict[int, tuple[int, NDArray[np.int64]]],
    start: int,
) -> Window:
    partitions: list[int] = []
    offsets: list[int] = []
    times: list[int] = []
    from_ = environment.topics.at(pipeline.notifications, start)
    for messages in environment.topics.read(pipeline.notifications, from_):
        for message in messages:
            partition, offset = _event(message.value())
            partitions.append(partition)
            offsets.append(offset)
            times.append(message.timestamp()[1])
    partition_of, offset_of, time_of = (
        np.array(values, np.int64) for values in (partitions, offsets, times)
    )
    delays = []
    for partition, (first, event_times) in appended.items():
        is_in_window = (offset_of >= first) & (offset_of < first + len(event_times))
        selection = (partition_of == partition) & is_in_window
        delays.append(time_of[selection] - event_times[offset_of[selection] - first])
    all_delays = np.concatenate(delays)
    if not len(all_delays):
        raise RuntimeError(f"pipeline {pipeline.name} notified of no event of the window")
    p50, p99 = np.percentile(all_delays, (50, 99))
    event_count = sum(len(event_times) for _, event_times in appended.values())
    return Window(float(p50), float(p99), len(all_delays) / event_count)


def _event(value: bytes) -> tuple[int, int]:
    """Return the partition and the offset of the event of a notification.

    >>> _event(b'{"id":"ads-0-17/s1","event":"ads-0-17","subscription":"s1","version":12}')
    (0, 17)
    """
    _, partition, offset = value.split(b'"', 8)[7].rsplit(b"-", 2)
    return int(partition), int(offset)
