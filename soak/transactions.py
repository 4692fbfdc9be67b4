"""Events in transactions, which stay open for up to a second, and some of which are aborted.

Events of a committed transaction are acknowledged when the commit returns. Events of an aborted one
must cause no notification. If a process is killed, its open transaction is aborted when the next
process starts, or by the server after some seconds.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from soak.journal import Journal, Past
from soak.names import EVENTS

__all__ = ["SHARE", "Transactions"]

SHARE = 0.2  # share of events that are in transactions
_ABORTED = 3  # every third transaction is aborted
_OPEN_S = 1.0  # longest time from the begin of a transaction to its end
_SECONDS = 20.0  # limit of a request, which is then repeated
_FAILURES = KafkaException, SystemError  # SystemError: a fatal error occurred in a callback


@dataclass(slots=True)
class Transactions:
    """A producer of events in transactions, of which one at a time is open."""

    servers: str
    journal: Journal
    past: Past
    rng: random.Random
    _producer: Producer = field(init=False)
    _end_s: float = 0.0
    _is_open: bool = False
    _begun: int = 0
    _delivered: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._renew()

    def tick(self, values: Sequence[bytes]) -> None:
        """Send events in the open transaction or a new one, and end it if its time is over."""
        try:
            if not self._is_open:
                self._producer.begin_transaction()
                self._delivered = []
                self._begun += 1
                self._end_s = time.monotonic() + self.rng.uniform(0, _OPEN_S)
                self._is_open = True
            for value in values:
                self._producer.produce(EVENTS, value, on_delivery=_into(self._delivered))
            self._producer.poll(0)
        except _FAILURES:
            self._abort()
        if time.monotonic() >= self._end_s:
            self.finish()

    def finish(self) -> None:
        """Commit or abort the open transaction, if any, and write its events to the journal."""
        if not self._is_open:
            return
        if self._begun % _ABORTED == 0:
            self._abort()
            return
        try:
            self._producer.flush(_SECONDS)
            _again(lambda: self._producer.commit_transaction(_SECONDS))
        except _FAILURES:
            self._abort()
            return
        for partition, offset in self._delivered:
            self.journal.note(EVENTS, partition, offset)
        self.past.events += len(self._delivered)
        self._is_open = False

    def _abort(self) -> None:
        """Abort the transaction, and write its events to the journal as aborted.

        If this fails, the state of the transaction is unknown, and nothing is written.
        """
        try:
            if self.rng.random() < 0.5:  # otherwise most events do not reach the server
                self._producer.flush(_SECONDS)
            _again(lambda: self._producer.abort_transaction(_SECONDS))
            for partition, offset in self._delivered:
                self.journal.note(EVENTS, partition, offset, aborted=True)
        except _FAILURES:
            self._renew()
        self._is_open = False

    def _renew(self) -> None:
        """Create a new producer; the server aborts the open transaction of the previous one."""
        self._producer = Producer(
            {
                "bootstrap.servers": self.servers,
                "transactional.id": "soak",
                "transaction.timeout.ms": 10_000,
                "linger.ms": 5,
                "reconnect.backoff.max.ms": 1000,
                "log_level": 0,
            }
        )
        _again(lambda: self._producer.init_transactions(_SECONDS))


def _into(delivered: list[tuple[int, int]]) -> Callable[[KafkaError | None, Message], None]:
    """Return a callback that adds delivered records to the list of one transaction.

    It may be called after the transaction has ended.
    """

    def noted(error: KafkaError | None, message: Message) -> None:
        if error is None:
            delivered.append((cast(int, message.partition()), cast(int, message.offset())))

    return noted


def _again(attempt: Callable[[], None]) -> None:
    """Repeat an attempt until it succeeds or fails with an error that is not retriable."""
    while True:
        try:
            attempt()
            return
        except KafkaException as failure:
            error = failure.args[0]
            if not (isinstance(error, KafkaError) and error.retriable()):
                raise
