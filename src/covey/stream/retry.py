"""For how long a stream that fails is tried again: as long as somebody may mend what is wrong."""

from __future__ import annotations

import time

from covey.errors import StreamError, extract_worker_error

__all__ = ["RetryPolicy", "summarize_error"]

_DEADLINE_S, _LOST_EVENTS_DEADLINE_S = 600.0, 30.0
_DELAYS_S = (1.0, 2.0, 5.0, 10.0)
_LOST_EVENTS_TEXT, _REASON_PREFIX = (
    "Some data may have been lost",
    "Reason: ",
)  # as Spark says that events are gone


class RetryPolicy:
    """Is told of failures; every batch that is done makes it begin again.

    `checkpoint` is what a user would delete to go on without events that are gone.
    """

    def __init__(self, checkpoint_path: str, last_batch: int) -> None:
        self._checkpoint_path, self._last_batch = checkpoint_path, last_batch
        self._failing_since_s, self._failures = time.monotonic(), 0

    def next_delay_s(self, error: Exception, last_batch: int) -> float:
        """How long to wait after a failure; `done` is the last batch that was done.

        When it has lasted too long it is a `StreamError`.
        """
        if last_batch != self._last_batch:
            self._failing_since_s, self._failures, self._last_batch = (
                time.monotonic(),
                0,
                last_batch,
            )
        failing_s, lost = time.monotonic() - self._failing_since_s, _find_lost_events(str(error))
        if lost is not None and failing_s > _LOST_EVENTS_DEADLINE_S:
            raise StreamError(
                f"events were deleted from Kafka before they were read: {lost}. To go on without "
                f"them, delete {self._checkpoint_path}"
            ) from None
        if failing_s > _DEADLINE_S:
            raise StreamError(
                f"the stream fails again and again: {summarize_error(error)}"
            ) from None
        self._failures += 1
        return _DELAYS_S[min(self._failures, len(_DELAYS_S)) - 1]


def summarize_error(error: Exception) -> str:
    """What failed, in a line.

    >>> summarize_error(OSError("no such file\\nat …"))
    'no such file'
    """
    return str(extract_worker_error(str(error)) or error).splitlines()[0]


def _find_lost_events(message: str) -> str | None:
    """Which events are gone from Kafka, if that is what Spark says.

    >>> reason = "Reason: Could not read [6, 7)"
    >>> message = f"… Some data may have been lost because …\\n{reason}\\nwith …"
    >>> _find_lost_events(message)
    'Could not read [6, 7)'
    """
    _, found, rest = message.partition(_LOST_EVENTS_TEXT)
    return (
        (rest.partition(_REASON_PREFIX)[2].splitlines() or [_LOST_EVENTS_TEXT])[0]
        if found
        else None
    )
