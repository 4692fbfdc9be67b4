"""Changes of subscriptions: their cost, their effect on matching, and crash safety of a store.

Subscriptions are uniform boxes in four dimensions. Batches have 20,000 events; changes come in
batches of 1,000 that replace random subscriptions, on a local disk. `change_us` includes durable
files, tombstones, and merges (run between the batches). `under_change` is measured for ten minutes,
in which a thread applies 1,000 changes per second, other processes merge and the main thread
matches with the newest version: it is the throughput of the worst ten seconds, relative to that
before any change. No other program runs.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import Value, interleaved, progress
from covey.space import Events
from covey.store import BackgroundMerger, Changes, Store
from covey.testing.store_faults import flip_bytes, kill_writers
from covey.workload import UniformBoxes

KEYS = {
    "recent_share": "share of events/s lost by 10,000 recent changes and 10% tombstones, at 1M",
    "change_us": "µs per change at 1M subscriptions, merges included",
    "change_10m_us": "µs per change in the writer at 10M during matching, without merges",
    "under_change": "events/s at 10M with changes, worst 10 s of 10 min, relative to none",
    "under_change_median": "events/s at 10M with changes, median 10 s of 10 min, relative to none",
    "under_change_events_per_s": "events/s at 10M without changes",
    "kills_survived": "kills of a writer, of 200, after which all acknowledged changes were stored",
    "flips_wrong": "wrong answers after 1,000 flipped bytes in stored files",
}

_EVENTS, _BATCH = 20_000, 1_000
_STORED, _MANY = 1_000_000, 10_000_000
_CHANGES = 700  # batches, for `change_us`
_LOADED = 1_000_000  # subscriptions per batch when a store is filled
_MINUTES, _WINDOW_SECONDS = 10, 10
_WORKLOAD = UniformBoxes(4, 0.1)


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Return the results for the keys in `only`, at the published sizes even without `full`."""
    results: dict[str, Value] = {}
    if "recent_share" in only:
        results["recent_share"] = _recent_share()
    if "change_us" in only:
        results["change_us"] = _change_us()
    if any(key.startswith("under_change") or key == "change_10m_us" for key in only):
        results |= _under_change()
    if "kills_survived" in only:
        with _folder() as folder:
            report = kill_writers(folder / "store", 200)
            results["kills_survived"] = report.kill_count - len(report.violations)
    if "flips_wrong" in only:
        with _folder() as folder:
            results["flips_wrong"] = len(flip_bytes(folder / "store", 1_000).wrong_answers)
    return {key: value for key, value in results.items() if key in only}


def _recent_share() -> float:
    """Return the share of events/s that is lost with a tenth of dead rows and 10,000 new rows."""
    with _store(_STORED) as store:
        before = store.snapshot()
        random = np.random.default_rng(1)
        dead = random.choice(_STORED, _STORED // 10, replace=False)
        store.apply(Changes.remove(dead))
        store.apply(_replaced(dead[:10_000], _STORED))
        after, events = store.snapshot(), _events()
        for snapshot in (before, after):
            snapshot.match(events)
        seconds = interleaved(
            9, before=partial(before.match, events), after=partial(after.match, events)
        )
    return round(1 - seconds["before"] / seconds["after"], 3)


def _change_us() -> float:
    with _store(_STORED) as store:
        random, start = np.random.default_rng(2), time.perf_counter()
        for n in range(_CHANGES):
            ids = random.choice(_STORED, _BATCH, replace=False)
            store.apply(_replaced(ids, _STORED + n * _BATCH))
            while store.merge():
                pass
        seconds = time.perf_counter() - start
    return round(seconds / (_CHANGES * _BATCH) * 1e6, 1)


def _under_change() -> dict[str, Value]:
    """Match alone, then beside a thread that applies changes and processes that merge."""
    with _store(_MANY) as store:
        events = _events()
        undisturbed = interleaved(9, match=partial(_match, store, events))["match"]
        with BackgroundMerger(store) as merger:
            writer = _Writer(store)
            seconds = _match_for(60 * _MINUTES, partial(_match, store, events))
            writer.stop()
            if merger.last_error is not None:
                raise merger.last_error
        shares = [undisturbed / under_change for under_change in seconds]
        expected = 60 * _MINUTES * _BATCH
        if writer.applied < 0.98 * expected:
            raise RuntimeError(
                f"{writer.applied} changes were applied, expected at least 98% of {expected}: "
                "the machine may be too slow for this load"
            )
        return {
            "under_change": round(min(shares), 3),
            "under_change_median": round(float(np.median(shares)), 3),
            "under_change_events_per_s": round(_EVENTS / undisturbed),
            "change_10m_us": round(writer.busy / writer.applied * 1e6, 1),
        }


class _Writer:
    """A thread that applies a batch of changes every second."""

    def __init__(self, store: Store) -> None:
        self.applied, self.busy = 0, 0.0
        self._store, self._ending = store, threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        """End the thread after its current batch."""
        self._ending.set()
        self._thread.join()

    def _run(self) -> None:
        random, due = np.random.default_rng(3), time.perf_counter()
        while not self._ending.wait(max(0.0, due - time.perf_counter())):
            due += 1
            changes = _replaced(random.choice(_MANY, _BATCH, replace=False), _MANY + self.applied)
            start = time.perf_counter()
            self._store.apply(changes)
            self.busy += time.perf_counter() - start
            self.applied += _BATCH


def _match(store: Store, events: Events) -> None:
    store.snapshot().match(events)


def _match_for(seconds: float, match: Callable[[], None]) -> list[float]:
    """Call `match` for a time, and return the mean seconds of a call in each window."""
    windows = []
    start = time.perf_counter()
    while (window_start := time.perf_counter()) < start + seconds:
        progress(int(window_start - start), int(seconds), "seconds of changes")
        calls = 0
        while time.perf_counter() < window_start + _WINDOW_SECONDS:
            match()
            calls += 1
        windows.append((time.perf_counter() - window_start) / calls)
    progress(int(seconds), int(seconds), "seconds of changes")
    return windows


@contextmanager
def _store(subscriptions: int) -> Iterator[Store]:
    """Yield a store with this number of subscriptions in one segment; ids count from 0."""
    with _folder() as folder, Store.create(folder / "store", _WORKLOAD.space) as store:
        for start in range(0, subscriptions, _LOADED):
            progress(start, subscriptions, "subscriptions loaded")
            store.apply(_replaced(np.arange(start, start + _LOADED), start))
        while store.merge():
            pass
        progress(subscriptions, subscriptions, "subscriptions loaded")
        yield store


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="covey-") as folder:
        yield Path(folder)


def _replaced(ids: np.ndarray[tuple[int], np.dtype[np.int64]], first: int) -> Changes:
    """Return a change that gives these ids the workload's boxes from number `first` on."""
    regions = _WORKLOAD.generate_regions(first, first + len(ids))
    return Changes(ids, regions, np.arange(len(ids)))


def _events() -> Events:
    return Events.from_arrow(_WORKLOAD.generate_events(0, _EVENTS), _WORKLOAD.space)
