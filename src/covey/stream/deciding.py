"""Batches are decided in a thread of the driver, each as soon as Spark has fixed its events.

Meanwhile Spark plans the batch and reads its events, and workers wait for the record. So what a
change costs is hardly added to what a batch takes.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from covey.store import Snapshot
from covey.stream.checkpoint import Checkpoint
from covey.stream.matched import Wanted
from covey.stream.records import Record
from covey.stream.subscriptions import LiveSubscriptions, Read

__all__ = ["Decided", "Decider", "Waiting"]

_POLL_S, _SHARE = 0.003, 0.2  # of the time for looking, where that takes long


@dataclass(frozen=True, slots=True)
class Decided:
    """A batch that has a version."""

    record: Record
    snapshot: Snapshot
    read: Read
    seconds: float


Waiting = dict[int, Decided]
"""Batches that were decided and not told of, by number; of all runs of a query."""


class Decider:
    """Decides batches of one run of a query, from now until it is over.

    It is over when it is closed, when something failed, or when a version looks at attributes that
    the running query does not have: that batch is on record, and has to be run by another query,
    which has all that is `wanted` then.
    """

    def __init__(
        self,
        subscriptions: LiveSubscriptions,
        checkpoint: Checkpoint,
        wanted: Wanted,
        waiting: Waiting,
    ) -> None:
        self.error: Exception | None = None
        self.over, self.wanted = threading.Event(), wanted
        self._subscriptions, self._checkpoint = subscriptions, checkpoint
        self._waiting = waiting
        self._last: int | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="covey-decider", daemon=True)
        self._thread.start()

    def close(self) -> int | None:
        """Lets no further batch be decided; the last one that was, if any."""
        self._closing.set()
        self._thread.join()
        return self._last

    def _run(self) -> None:
        try:
            batch = self._checkpoint.next_batch()
            while self._is_fixed(batch):
                if not self._decide(batch):
                    return
                batch += 1
        except Exception as error:  # told by the thread that waits for this one
            self.error = error
        finally:
            self.over.set()

    def _is_fixed(self, batch: int) -> bool:
        """Waits until the events of a batch are fixed; false if it is closed before."""
        pause = 0.0
        while not self._closing.wait(pause):
            started = time.perf_counter()
            if self._checkpoint.is_fixed(batch):
                return True
            pause = max(_POLL_S, (time.perf_counter() - started) / _SHARE)
        return False

    def _decide(self, batch: int) -> bool:
        """Puts the version of a batch on record; whether the running query can match with it."""
        started = time.perf_counter()
        query, events = self._checkpoint.query(), self._checkpoint.events(batch)
        record, read = self._subscriptions.decided_by(query, batch, events)
        snapshot = self._subscriptions.snapshot(record)
        if batch in self._waiting:  # an earlier run of it has read the changes
            read = self._waiting[batch].read.and_then(read)
        self._waiting[batch] = Decided(record, snapshot, read, time.perf_counter() - started)
        self._last = batch
        given, self.wanted = self.wanted, self.wanted.and_of(snapshot)
        return self.wanted is given
