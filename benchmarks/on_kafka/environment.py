"""The environment of all measurements: a Kafka server, control topics, and both pipelines.

All data are in temporary folders, and the server uses free ports. The server's folder is in memory
if the machine has `/dev/shm`. In production, the server has a separate machine. On this machine,
its log would compete for the disk with the pipelines, of which only covey's writes durable state.
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
_LONGEST_S = 1800.0  # limit for a first notification, and for a backlog
_QUIET_S = 5.0  # time without a notification after which all are written; longer than a batch
_NEARLY = 0.95  # smallest share of the expected notifications, whose number varies randomly
_POLL_S = 0.1
_BLOCK = 100_000


def say(text: str) -> None:
    """Print a line of progress on stderr."""
    print(text, file=sys.stderr, flush=True)


@dataclass(slots=True)
class Environment:
    """A running Kafka server with control topics full of subscriptions."""

    sizes: Sizes
    topics: Topics
    folder: Path
    rates: dict[str, float] = field(default_factory=dict)  # highest events/s by pipeline
    _controls: set[str] = field(default_factory=set)
    _made: set[str] = field(default_factory=set)
    _seed: int = 0

    @classmethod
    @contextmanager
    def start(cls, sizes: Sizes) -> Iterator[Environment]:
        """Yield an environment in new folders, which are removed afterwards."""
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
        """Return the pipeline `name` with its topics and `count` subscriptions.

        Its topics are created if necessary; its state is not removed.
        """
        control = self.control(count or self.sizes.subscriptions)
        folder = self.folder / f"{name}-{control}"
        pipeline = Pipeline(name, self.topics.broker.address, control, folder, _ROOT / ".jars")
        new_topics = set(pipeline.topics) - self._made
        self.topics.create(*sorted(new_topics))
        self._made |= new_topics
        return pipeline

    def control(self, count: int) -> str:
        """Return the name of a control topic with `count` subscriptions; fill it if it is new."""
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
        """Return a context in which a process sends events and changes to a pipeline."""
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
        """Remove the state of a pipeline, and all messages of its topics."""
        pipeline.forget()
        for name in pipeline.topics:
            self.topics.empty(name)

    def wait_for_first(self, pipeline: Pipeline, process: Process, before: int) -> None:
        """Wait until a pipeline has more than `before` notifications."""
        self.wait(process, lambda: self.topics.size(pipeline.notifications) > before)

    def wait_until_written(self, process: Process, events: int, written: Callable[[], int]) -> None:
        """Wait until the notifications of a number of events are written.

        `written` returns the number of notifications so far. All count as written when this number
        is near the expected one and does not grow any more.
        """
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
        """Wait until `is_done` returns True.

        Raises:
            RuntimeError: the process has ended, or the time limit has passed.
        """
        until = time.monotonic() + _LONGEST_S
        while not is_done():
            process.check()
            if time.monotonic() > until:
                raise RuntimeError(
                    f"the pipeline did not make progress in {_LONGEST_S:.0f} s:\n"
                    f"{process.said()[-4000:]}"
                )
            time.sleep(_POLL_S)


def _folder(place: Path | None = None) -> AbstractContextManager[str]:
    """Return a new temporary folder, inside `place` if that is a folder."""
    parent = place if place is not None and place.is_dir() else None
    return tempfile.TemporaryDirectory(prefix="covey-live-", dir=parent, ignore_cleanup_errors=True)


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """Raise SystemExit on SIGTERM in the block, so that all child processes are ended too."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
