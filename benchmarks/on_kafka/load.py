"""A program that sends events and changes of subscriptions at a steady rate until SIGTERM.

It runs as a process: `python -m benchmarks.on_kafka.load '{"servers": …}'`, with the fields of
`Load`. Values are generated before the first is sent. On SIGTERM it sends the waiting messages,
prints the numbers of sent messages and the largest lateness, and ends.
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

_DRAWN = 100_000  # different events, and different changes, which are sent repeatedly
_TICK_S = 0.005


@dataclass(frozen=True, slots=True)
class Load:
    """Topics, rates and seed of the load.

    `subscriptions` is the number of subscriptions that changes are drawn from.
    """

    servers: str
    events: str
    events_per_s: int
    control: str
    changes_per_s: int
    subscriptions: int
    seed: int

    @property
    def words(self) -> list[str]:
        """Command line of the program with this load."""
        return [sys.executable, "-m", "benchmarks.on_kafka.load", json.dumps(asdict(self))]

    def send(self, stop: Event) -> dict[str, float]:
        """Send until `stop` is set; return the numbers of messages and the largest lateness."""
        random = np.random.default_rng(self.seed)
        events = boxes.events(_DRAWN, random)
        values = boxes.subscriptions(_DRAWN, self.subscriptions, random)
        keys = boxes.changed(_DRAWN, self.subscriptions, random)
        kafka_producer = producer(self.servers, linger_ms=1)
        sent, changed, max_lateness_s, start = 0, 0, 0.0, time.perf_counter()
        while not stop.wait(_TICK_S):
            now = time.perf_counter() - start
            due, changes_due = int(now * self.events_per_s), int(now * self.changes_per_s)
            max_lateness_s = max(max_lateness_s, (due - sent) / max(1, self.events_per_s))
            for number in range(sent, due):
                value, partition = events[number % _DRAWN], number % PARTITIONS
                kafka_producer.produce(self.events, value, partition=partition)
            for number in range(changed, changes_due):
                key = keys[(number + number // _DRAWN) % _DRAWN]  # other pairs in every repetition
                kafka_producer.produce(self.control, values[number % _DRAWN], key)
            sent, changed = due, changes_due
            kafka_producer.poll(0)
        kafka_producer.flush(60.0)
        return {"events": sent, "changes": changed, "latest_s": round(max_lateness_s, 3)}


def _main() -> None:
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    print(json.dumps(Load(**json.loads(sys.argv[1])).send(stop)))


if __name__ == "__main__":
    _main()
