"""How long a notification takes: its append time minus that of its event, at an even load.

Pipelines take turns, one at a time, each going on from its checkpoint: it is started under load,
and from its first notification on it has some time to warm up before the window. Both get events
and changes of subscriptions at the same rate; the bare one has no use for the changes, but server
and cores do have the work. Topics are read when the pipeline has ended. All notifications of all
events that were appended in the window count.
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
    "p50_vs_bare": "median delay at 3,000 events/s, 1M subscriptions, 500 changes/s, against bare",
    "p99_vs_bare": "the same of the 99th percentile",
    "p50_ms": "median delay in milliseconds, from append to append",
    "p99_ms": "99th percentile of it",
    "bare_p50_ms": "median delay of the bare pipeline",
    "bare_p99_ms": "99th percentile of it",
    "matches_per_event": "notifications of an event, of covey's",
}


@dataclass(frozen=True, slots=True)
class Window:
    """Delays of one window."""

    p50_ms: float
    p99_ms: float
    per_event: float


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """Windows in turns, and medians over them."""
    alone = {"bare_p50_ms", "bare_p99_ms"}
    names = [BARE] if only <= alone else [COVEY] if only <= {"matches_per_event"} else [BARE, COVEY]
    windows: dict[str, list[Window]] = {name: [] for name in names}
    for turn in range(environment.sizes.windows):
        for name in names:
            found = window(environment, environment.pipeline(name))
            windows[name].append(found)
            say(
                f"window {turn + 1}/{environment.sizes.windows} {name}: p50 {found.p50_ms:.0f} ms, "
                f"p99 {found.p99_ms:.0f} ms, {found.per_event:.2f} notifications an event"
            )
    results: dict[str, Value] = {}
    medians = {name: _median(found) for name, found in windows.items()}
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
    """Starts a pipeline, measures it, and ends it."""
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
    found = _delays(environment, pipeline, appended, start)
    for name in pipeline.topics:
        topics.empty(name)
    return found


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _median(windows: list[Window]) -> Window:
    return Window(
        statistics.median(each.p50_ms for each in windows),
        statistics.median(each.p99_ms for each in windows),
        statistics.median(each.per_event for each in windows),
    )


def _appended(
    environment: Environment, pipeline: Pipeline, start: int, end: int
) -> dict[int, tuple[int, NDArray[np.int64]]]:
    """Of each partition the first offset in the window, and append times from there on."""
    first = environment.topics.at(pipeline.events, start)
    times: dict[int, list[int]] = {part: [] for part in first}
    last = environment.topics.at(pipeline.events, end)
    for messages in environment.topics.read(pipeline.events, first, last):
        for message in messages:
            times[message.partition()].append(message.timestamp()[1])
    return {part: (first[part], np.array(times[part], np.int64)) for part in first}


def _delays(
    environment: Environment,
    pipeline: Pipeline,
    appended: dict[int, tuple[int, NDArray[np.int64]]],
    start: int,
) -> Window:
    parts: list[int] = []
    offsets: list[int] = []
    times: list[int] = []
    from_ = environment.topics.at(pipeline.notifications, start)
    for messages in environment.topics.read(pipeline.notifications, from_):
        for message in messages:
            part, offset = _event(message.value())
            parts.append(part)
            offsets.append(offset)
            times.append(message.timestamp()[1])
    part_of, offset_of, time_of = (np.array(each, np.int64) for each in (parts, offsets, times))
    delays = []
    for part, (first, of_events) in appended.items():
        mine = (part_of == part) & (offset_of >= first) & (offset_of < first + len(of_events))
        delays.append(time_of[mine] - of_events[offset_of[mine] - first])
    all_ = np.concatenate(delays)
    if not len(all_):
        raise RuntimeError(f"{pipeline.name} notified of no event of the window")
    p50, p99 = np.percentile(all_, (50, 99))
    return Window(float(p50), float(p99), len(all_) / sum(len(t) for _, t in appended.values()))


def _event(value: bytes) -> tuple[int, int]:
    """Partition and offset, from a notification.

    >>> _event(b'{"id":"ads-0-17/s1","event":"ads-0-17","subscription":"s1","version":12}')
    (0, 17)
    """
    _, part, offset = value.split(b'"', 8)[7].rsplit(b"-", 2)
    return int(part), int(offset)
