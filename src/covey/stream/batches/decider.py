"""Decision of each batch in a thread of the driver, as soon as Spark has fixed its events.

While the thread applies subscription changes, Spark plans the batch and reads its events. Workers
wait for the decision only if it takes longer, so the changes add little to the time of a batch.
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

# A slow poll is followed by a longer pause, so that polls take at most this share of the time.
_POLL_S, _POLL_TIME_SHARE = 0.003, 0.2


@dataclass(frozen=True, slots=True)
class DecidedBatch:
    """A decided batch, with its version and with the counts and the time of the decision.

    Args:
        decision: the recorded decision.
        snapshot: the version that decides the batch.
        control_stats: counts of the changes that were read from the control topic for the batch.
        seconds: elapsed time of the decision.
    """

    decision: BatchDecision
    snapshot: Snapshot
    control_stats: ControlReadStats
    seconds: float


PendingBatches = dict[int, DecidedBatch]
"""Batches that were decided but not yet reported, by number.

All runs of a query share one such dictionary.
"""


class BatchDecider:
    """Thread that decides the batches of one run of a query.

    The thread starts at once. It ends, and sets `run_ended`, when it is closed, when a decision
    fails (`error` is the exception), or when a version constrains attributes that the running query
    does not compute. In the last case the batch is decided, but another query must run it, with
    the attributes in `required_attributes`.

    Args:
        subscriptions: subscriptions from which a version is made for each batch.
        checkpoint: checkpoint of the query.
        required_attributes: attributes that the running query computes.
        pending_batches: decided batches that are not yet reported; the thread adds batches.
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
        self._checked_version: int | None = None  # its attributes are in `required_attributes`
        self._close_requested = threading.Event()
        self._thread = threading.Thread(target=self._run, name="covey-decider", daemon=True)
        self._thread.start()

    def close(self) -> int | None:
        """Stop the thread; return the last batch that it decided, or None if it decided none."""
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
        except Exception as error:  # the thread that waits for this one raises it again
            self.error = error
        finally:
            self.run_ended.set()

    def _wait_for_offsets(self, batch: int) -> bool:
        """Wait until Spark has recorded the offsets of a batch, or `close` is called.

        Returns:
            True if the offsets are recorded; False if `close` was called before.
        """
        pause_s = 0.0
        while not self._close_requested.wait(pause_s):
            started = time.perf_counter()
            if self._checkpoint.has_offsets(batch):
                return True
            pause_s = max(_POLL_S, (time.perf_counter() - started) / _POLL_TIME_SHARE)
        return False

    def _decide_batch(self, batch: int) -> bool:
        """Decide a batch; return whether the running query computes all required attributes."""
        started = time.perf_counter()
        query_id = self._checkpoint.read_query_id()
        offset_ranges = self._checkpoint.read_offset_ranges(batch)
        time_ms = self._checkpoint.read_time_ms(batch)
        decision, control_stats = self._subscriptions.decide_batch(
            query_id, batch, offset_ranges, time_ms
        )
        snapshot = self._subscriptions.open_snapshot(decision)
        if batch in self._pending_batches:  # an earlier run of the batch has read the changes
            control_stats = self._pending_batches[batch].control_stats.combine(control_stats)
        self._pending_batches[batch] = DecidedBatch(
            decision, snapshot, control_stats, time.perf_counter() - started
        )
        self._last_batch = batch
        if decision.version == self._checked_version:
            return True
        self._checked_version = decision.version
        computed_attributes, self.required_attributes = (
            self.required_attributes,
            self.required_attributes.with_attributes_of(snapshot),
        )
        return self.required_attributes is computed_attributes
