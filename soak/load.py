"""The producers: `python -m soak.load --servers S --folder F --events N --changes M --rate R`.

It sends R events per second, and changes in proportion, until N events and M changes are
acknowledged and the file `stop` is in the folder. Between these two moments it sends at a lower
rate, so that a restarted pipeline always has events to process. It may be killed and started again
at any time.
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
_SECONDS = 60.0  # limit for a server to restart


def load(servers: str, folder: Path, events: int, changes: int, rate: float, seed: int) -> None:
    """Send until all records are acknowledged and the file `stop` exists.

    Args:
        servers: address of the Kafka server.
        folder: folder of the run, with the journal.
        events: smallest number of acknowledged events, over all starts.
        changes: smallest number of acknowledged changes, over all starts.
        rate: events per second.
        seed: seed of random events and changes.
    """
    past = Past.of(folder / JOURNAL)
    rng = random.Random(f"{seed} {past.events} {past.changes}")
    with Journal(folder / JOURNAL) as journal:
        plain = _Plain(servers, journal, past)
        transactions = Transactions(servers, journal, past, rng)
        while len(past.live) < min(draws.LIVE * 0.95, changes):
            plain.change(draws.change(rng, past))
        plain.flush()
        change_rate = rate * max(changes - past.changes, 1) / max(events - past.events, 1)
        paces = _Pace(rate * (1 - SHARE)), _Pace(rate * SHARE), _Pace(min(change_rate, rate))
        while not (_enough(past, events, changes) and (folder / STOP).exists()):
            time.sleep(_TICK_S)
            slowdown = 0.2 if _enough(past, events, changes) else 1.0
            plain_events, transaction_events, due_changes = (pace.due(slowdown) for pace in paces)
            for _ in range(due_changes):
                plain.change(draws.change(rng, past))
            for _ in range(plain_events):
                plain.event(draws.event(rng))
            transactions.tick([draws.event(rng) for _ in range(transaction_events)])
            plain.poll()
            journal.flush()
        transactions.finish()
        plain.flush()


def _enough(past: Past, events: int, changes: int) -> bool:
    return past.events >= events and past.changes >= changes


@dataclass(slots=True)
class _Pace:
    """A steady rate of records; after a pause of more than a second, the excess is not sent."""

    a_second: float
    _since: float = field(default_factory=time.monotonic)
    _due: float = 0.0

    def due(self, slower: float) -> int:
        """Return the number of records to send now, at the rate times `slower`."""
        now = time.monotonic()
        self._due = self._due % 1 + min(now - self._since, 1.0) * self.a_second * slower
        self._since = now
        return int(self._due)


@dataclass(slots=True)
class _Plain:
    """Producer of changes and events outside of transactions.

    Each record is written to the journal when it is acknowledged.
    """

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
        """Send an event."""
        self._producer.produce(EVENTS, value, on_delivery=self._event_noted)

    def change(self, sending: draws.Sending) -> None:
        """Send a change."""

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
        """Handle acknowledgements."""
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait until all records are acknowledged; raise RuntimeError after the time limit."""
        if unsent := self._producer.flush(_SECONDS):
            raise RuntimeError(
                f"{self.servers} did not accept {unsent} records in {_SECONDS:.0f} s"
            )

    def _event_noted(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.past.events += 1
            partition, offset = cast(int, message.partition()), cast(int, message.offset())
            self.journal.note(EVENTS, partition, offset)


def main() -> None:
    """Run the producers with the options of the command line."""
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
