"""A program that sends events and changes of subscriptions, evenly paced, until it is told to end.

It is run as a process: `python -m benchmarks.on_kafka.load '{"servers": …}'`, with the fields of
`Load`. Values are drawn before the first is sent. On SIGTERM it sends what is waiting, prints what
it sent and how late it was at worst, and ends.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from dataclasses import asdict, dataclass
from threading import Event

import numpy as np

from benchmarks.on_kafka import boxes
from benchmarks.on_kafka.topics import PARTITIONS, producer

__all__ = ["Load"]

_DRAWN = 100_000  # events, and changes, that are sent again and again
_TICK_S = 0.005


@dataclass(frozen=True, slots=True)
class Load:
    """What is sent where, and how much of it a second."""

    servers: str
    events: str
    events_per_s: int
    control: str
    changes_per_s: int
    subscriptions: int
    seed: int

    @property
    def words(self) -> list[str]:
        """The command that sends it."""
        return [sys.executable, "-m", "benchmarks.on_kafka.load", json.dumps(asdict(self))]

    def send(self, stop: Event) -> dict[str, float]:
        """Sends until `stop` is set, and says what was sent."""
        random = np.random.default_rng(self.seed)
        events = boxes.events(_DRAWN, random)
        values = boxes.subscriptions(_DRAWN, self.subscriptions, random)
        keys = boxes.changed(_DRAWN, self.subscriptions, random)
        into = producer(self.servers, linger_ms=1)
        sent, changed, latest, start = 0, 0, 0.0, time.perf_counter()
        while not stop.wait(_TICK_S):
            now = time.perf_counter() - start
            due, changes_due = int(now * self.events_per_s), int(now * self.changes_per_s)
            latest = max(latest, (due - sent) / max(1, self.events_per_s))
            for number in range(sent, due):
                into.produce(self.events, events[number % _DRAWN], partition=number % PARTITIONS)
            for number in range(changed, changes_due):
                key = keys[(number + number // _DRAWN) % _DRAWN]  # each time round, other pairs
                into.produce(self.control, values[number % _DRAWN], key)
            sent, changed = due, changes_due
            into.poll(0)
        into.flush(60.0)
        return {"events": sent, "changes": changed, "latest_s": round(latest, 3)}


def _main() -> None:
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    print(json.dumps(Load(**json.loads(sys.argv[1])).send(stop)))


if __name__ == "__main__":
    _main()
