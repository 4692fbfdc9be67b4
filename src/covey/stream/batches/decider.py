"""Batches are decided in a thread of the driver, each as soon as Spark has fixed its events.

Meanwhile Spark plans the batch and reads its events, and workers wait for the record. So what a
change costs is hardly added to what a batch takes.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from covey.store import Snapshot
from covey.stream.batches.checkpoint import Checkpoint
from covey.stream.batches.decision_log import BatchDecision
from covey.stream.control.subscriptions import ControlReadStats, LiveSubscriptions
from covey.stream.events.match_query import RequiredAttributes

__all__ = ["BatchDecider", "DecidedBatch", "PendingBatches"]

_POLL_S, _POLL_TIME_SHARE = 0.003, 0.2  # of the time for looking, where that takes long


@dataclass(frozen=True, slots=True)
class DecidedBatch:
    """A batch that has a version."""

    decision: BatchDecision
    snapshot: Snapshot
    control_stats: ControlReadStats
    seconds: float


PendingBatches = dict[int, DecidedBatch]
"""Batches that were decided and not told of, by number; of all runs of a query."""


class BatchDecider:
    """Decides batches of one run of a query, from now until it is over.

    It is over when it is closed, when something failed, or when a version looks at attributes that
    the running query does not have: that batch is on record, and has to be run by another query,
    which has all that is `wanted` then.
    """

    def __init__(
        self,
        subscriptions: LiveSubscriptions,
        checkpoint: Checkpoint,
        required_attributes: RequiredAttributes,
        pending_batches: PendingBatches,
    ) -> None:
        self.error: Exception | None = None
        self.run_ended, self.required_attributes = threading.Event(), required_attributes
        self._subscriptions, self._checkpoint = subscriptions, checkpoint
        self._pending_batches = pending_batches
        self._last_batch: int | None = None
        self._close_requested = threading.Event()
        self._thread = threading.Thread(target=self._run, name="covey-decider", daemon=True)
        self._thread.start()

    def close(self) -> int | None:
        """Lets no further batch be decided; the last one that was, if any."""
        self._close_requested.set()
        self._thread.join()
        return self._last_batch

    def _run(self) -> None:
        try:
            batch = self._checkpoint.find_next_batch()
            while self._wait_for_offsets(batch):
                if not self._decide_batch(batch):
                    return
                batch += 1
        except Exception as error:  # told by the thread that waits for this one
            self.error = error
        finally:
            self.run_ended.set()

    def _wait_for_offsets(self, batch: int) -> bool:
        """Waits until the events of a batch are fixed; false if it is closed before."""
        pause = 0.0
        while not self._close_requested.wait(pause):
            started = time.perf_counter()
            if self._checkpoint.has_offsets(batch):
                return True
            pause = max(_POLL_S, (time.perf_counter() - started) / _POLL_TIME_SHARE)
        return False

    def _decide_batch(self, batch: int) -> bool:
        """Puts the version of a batch on record; whether the running query can match with it."""
        started = time.perf_counter()
        query, events = self._checkpoint.read_query_id(), self._checkpoint.read_offset_ranges(batch)
        record, read = self._subscriptions.decide_batch(query, batch, events)
        snapshot = self._subscriptions.open_snapshot(record)
        if batch in self._pending_batches:  # an earlier run of it has read the changes
            read = self._pending_batches[batch].control_stats.combine(read)
        self._pending_batches[batch] = DecidedBatch(
            record, snapshot, read, time.perf_counter() - started
        )
        self._last_batch = batch
        given, self.required_attributes = (
            self.required_attributes,
            self.required_attributes.with_attributes_of(snapshot),
        )
        return self.required_attributes is given
