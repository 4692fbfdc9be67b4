"""What all measurements share: a server, its topics filled with subscriptions, and both pipelines.

Everything is in folders that go with it, and on ports that were free. The server's is in memory
where there is such a place: elsewhere it has a machine of its own, and on this one its log would
keep the disk from pipelines, of which only one makes its state durable.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.on_kafka import boxes
from benchmarks.on_kafka.load import Load
from benchmarks.on_kafka.pipelines import Pipeline
from benchmarks.on_kafka.processes import Process, running
from benchmarks.on_kafka.sizes import Sizes
from benchmarks.on_kafka.topics import Topics
from covey.testing.kafka_server import KafkaServer

__all__ = ["Environment", "say"]

_ROOT = Path(__file__).parent.parent.parent
_IN_MEMORY = Path("/dev/shm")
_LONGEST_S = 1800.0  # that a first notification may take, or a backlog
_QUIET_S = 5.0  # without a notification: longer than a batch takes before its first
_NEARLY = 0.95  # of the notifications that are expected, which vary a little by chance
_POLL_S = 0.1
_BLOCK = 100_000


def say(text: str) -> None:
    """A line for those who wait."""
    print(text, file=sys.stderr, flush=True)


@dataclass(slots=True)
class Environment:
    """A server that runs, with subscriptions on its control topic."""

    sizes: Sizes
    topics: Topics
    folder: Path
    rates: dict[str, float] = field(default_factory=dict)  # events/s, once they are measured
    _controls: set[str] = field(default_factory=set)
    _made: set[str] = field(default_factory=set)
    _seed: int = 0

    @classmethod
    @contextmanager
    def start(cls, sizes: Sizes) -> Iterator[Environment]:
        """Starts an environment in a folder of its own, which is removed with it."""
        with (
            _ended_by_signal(),
            _folder() as name,
            _folder(_IN_MEMORY) as of_server,
            KafkaServer.on_free_ports(_ROOT / ".kafka", Path(of_server, "kafka")) as broker,
        ):
            topics = Topics(broker)
            try:
                yield cls(sizes, topics, Path(name))
            finally:
                topics.close()

    def pipeline(self, name: str, count: int | None = None) -> Pipeline:
        """One of the two, with topics and that many subscriptions; it keeps what it has."""
        control = self.control(count or self.sizes.subscriptions)
        folder = self.folder / f"{name}-{control}"
        found = Pipeline(name, self.topics.broker.address, control, folder, _ROOT / ".jars")
        new = set(found.topics) - self._made
        self.topics.create(*sorted(new))
        self._made |= new
        return found

    def control(self, count: int) -> str:
        """A control topic with so many subscriptions, filled once."""
        name = f"alerts-{count}"
        if name not in self._controls:
            start, random = time.perf_counter(), np.random.default_rng(count)
            self.topics.create_control(name)
            self.topics.fill(
                name,
                (
                    (boxes.identifier(first + number), value)
                    for first in range(0, count, _BLOCK)
                    for number, value in enumerate(
                        boxes.subscriptions(min(_BLOCK, count - first), count, random)
                    )
                ),
            )
            self._controls.add(name)
            say(f"{count:,} subscriptions on {name} in {time.perf_counter() - start:.1f} s")
        return name

    def loaded(
        self, pipeline: Pipeline, events_per_s: int | None = None
    ) -> AbstractContextManager[Process]:
        """A process that sends events and changes to a pipeline while it is needed."""
        self._seed += 1
        load = Load(
            servers=self.topics.broker.address,
            events=pipeline.events,
            events_per_s=self.sizes.events_per_s if events_per_s is None else events_per_s,
            control=pipeline.control,
            changes_per_s=self.sizes.changes_per_s,
            subscriptions=int(pipeline.control.rpartition("-")[2]),
            seed=self._seed,
        )
        return running(load.words, self.folder / "load")

    def forget(self, pipeline: Pipeline) -> None:
        """Removes all that a pipeline kept, and all events that it may not have read."""
        pipeline.forget()
        for name in pipeline.topics:
            self.topics.empty(name)

    def wait_for_first(self, pipeline: Pipeline, process: Process, before: int) -> None:
        """Until there are more notifications than before."""
        self.wait(process, lambda: self.topics.size(pipeline.notifications) > before)

    def wait_until_written(self, process: Process, events: int, written: Callable[[], int]) -> None:
        """Until nothing more is written of so many events, and all was, but for chance."""
        expected = _NEARLY * boxes.MATCHES * events
        size, since = -1, time.monotonic()

        def is_quiet() -> bool:
            nonlocal size, since
            now = written()
            if now != size:
                size, since = now, time.monotonic()
            return size >= expected and time.monotonic() - since > _QUIET_S

        self.wait(process, is_quiet)

    def wait(self, process: Process, is_done: Callable[[], bool]) -> None:
        """Until something is so, while a process lives."""
        until = time.monotonic() + _LONGEST_S
        while not is_done():
            process.check()
            if time.monotonic() > until:
                raise RuntimeError(f"nothing in {_LONGEST_S:.0f} s:\n{process.said()[-4000:]}")
            time.sleep(_POLL_S)


def _folder(place: Path | None = None) -> AbstractContextManager[str]:
    """A new one, at a place if there is such a one."""
    at = place if place is not None and place.is_dir() else None
    return tempfile.TemporaryDirectory(prefix="covey-live-", dir=at, ignore_cleanup_errors=True)


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """SIGTERM ends this process as an error would, so that all that it started ends as well."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
