"""The producers: `python -m soak.load --servers S --folder F --events N --changes M --rate R`.

Sends R events a second, and changes in proportion, until as many as asked were acknowledged and
the file `stop` is in the folder. Until then it goes on, slower, so that a pipeline that is killed
always has something to do. It may be killed at any moment and started again.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from confluent_kafka import KafkaError, Message, Producer

from soak import draws
from soak.journal import Journal, Past
from soak.names import ALERTS, EVENTS, JOURNAL, STOP
from soak.transactions import SHARE, Transactions

__all__ = ["load"]

_TICK_S = 0.02
_SECONDS = 60.0  # for a server to come back


def load(servers: str, folder: Path, events: int, changes: int, rate: float, seed: int) -> None:
    """Sends until all is acknowledged and stopping is asked."""
    past = Past.of(folder / JOURNAL)
    rng = random.Random(f"{seed} {past.events} {past.changes}")
    with Journal(folder / JOURNAL) as journal:
        plain = _Plain(servers, journal, past)
        transactions = Transactions(servers, journal, past, rng)
        while len(past.live) < min(draws.LIVE * 0.95, changes):
            plain.change(draws.change(rng, past))
        plain.flush()
        later = rate * max(changes - past.changes, 1) / max(events - past.events, 1)
        paces = _Pace(rate * (1 - SHARE)), _Pace(rate * SHARE), _Pace(min(later, rate))
        while not (_enough(past, events, changes) and (folder / STOP).exists()):
            time.sleep(_TICK_S)
            slower = 0.2 if _enough(past, events, changes) else 1.0
            single, together, changed = (pace.due(slower) for pace in paces)
            for _ in range(changed):
                plain.change(draws.change(rng, past))
            for _ in range(single):
                plain.event(draws.event(rng))
            transactions.tick([draws.event(rng) for _ in range(together)])
            plain.poll()
            journal.flush()
        transactions.finish()
        plain.flush()


def _enough(past: Past, events: int, changes: int) -> bool:
    return past.events >= events and past.changes >= changes


@dataclass(slots=True)
class _Pace:
    """How many are due now; what a pause of over a second held up is not made up for."""

    a_second: float
    _since: float = field(default_factory=time.monotonic)
    _due: float = 0.0

    def due(self, slower: float) -> int:
        now = time.monotonic()
        self._due = self._due % 1 + min(now - self._since, 1.0) * self.a_second * slower
        self._since = now
        return int(self._due)


@dataclass(slots=True)
class _Plain:
    """Changes and events outside of transactions; each is noted when it is acknowledged."""

    servers: str
    journal: Journal
    past: Past
    _producer: Producer = field(init=False)

    def __post_init__(self) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": self.servers,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 5,
                "reconnect.backoff.max.ms": 1000,
                "queue.buffering.max.messages": 1_000_000,
                "log_level": 0,
            }
        )

    def event(self, value: bytes) -> None:
        self._producer.produce(EVENTS, value, on_delivery=self._event_noted)

    def change(self, sending: draws.Sending) -> None:
        def noted(error: KafkaError | None, message: Message) -> None:
            if error is None:
                self.past.changes += 1
                partition, offset = cast(int, message.partition()), cast(int, message.offset())
                more = {"revision": sending.revision, "live": sending.live}
                id_ = sending.subscription
                self.journal.note(ALERTS, partition, offset, subscription=id_, **more)

        self._producer.produce(
            ALERTS,
            sending.value,
            sending.subscription,
            headers=list(sending.headers),
            on_delivery=noted,
        )

    def poll(self) -> None:
        self._producer.poll(0)

    def flush(self) -> None:
        if self._producer.flush(_SECONDS):
            raise RuntimeError(f"{self.servers} did not take what was sent in {_SECONDS} s")

    def _event_noted(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.past.events += 1
            partition, offset = cast(int, message.partition()), cast(int, message.offset())
            self.journal.note(EVENTS, partition, offset)


def main() -> None:
    """Runs the producers."""
    parser = argparse.ArgumentParser(prog="python -m soak.load", description=__doc__)
    parser.add_argument("--servers", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--events", type=int, required=True)
    parser.add_argument("--changes", type=int, required=True)
    parser.add_argument("--rate", type=float, default=500.0)
    parser.add_argument("--seed", type=int, default=0)
    load(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
