"""Events in transactions that stay open for a while, of which some are aborted.

What a committed transaction holds is promised when the commit returned; what an aborted one holds
must notify nobody. A transaction that a killed process left open is aborted when the next process
starts, or by the server after some seconds.
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

SHARE = 0.2  # of the events
_ABORTED = 3  # every third transaction is
_OPEN_S = 1.0  # at most, from the begin of a transaction to its end
_SECONDS = 20.0  # for the server to answer, then it is asked again
_FAILURES = KafkaException, SystemError  # the latter where a fatal error came in a callback


@dataclass(slots=True)
class Transactions:
    """One transaction after the other."""

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
        """Sends events in the transaction that is open, and ends it if it is time."""
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
        """Ends the transaction, if one is open; notes what became of its events."""
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
        """If even that fails nobody knows what became of the transaction, and nothing is noted."""
        try:
            if self.rng.random() < 0.5:  # else most of it never reaches the server
                self._producer.flush(_SECONDS)
            _again(lambda: self._producer.abort_transaction(_SECONDS))
            for partition, offset in self._delivered:
                self.journal.note(EVENTS, partition, offset, aborted=True)
        except _FAILURES:
            self._renew()
        self._is_open = False

    def _renew(self) -> None:
        """A new producer; the server aborts what the one before it left open."""
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
    """Notes for one transaction, even if what was delivered is told after it ended."""

    def noted(error: KafkaError | None, message: Message) -> None:
        if error is None:
            delivered.append((cast(int, message.partition()), cast(int, message.offset())))

    return noted


def _again(attempt: Callable[[], None]) -> None:
    """Tries until it succeeds, or fails for a reason that trying again does not mend."""
    while True:
        try:
            attempt()
            return
        except KafkaException as failure:
            error = failure.args[0]
            if not (isinstance(error, KafkaError) and error.retriable()):
                raise
