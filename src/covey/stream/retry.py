"""Retry policy of a stream: delays after failures, and deadlines after which the stream ends.

The deadlines give an operator time to repair the cause while the stream keeps trying.
"""

from __future__ import annotations

import time

from covey.errors import StreamError, extract_worker_error

__all__ = ["RetryPolicy", "summarize_error"]

_DEADLINE_S, _LOST_EVENTS_DEADLINE_S = 600.0, 30.0
_DELAYS_S = (1.0, 2.0, 5.0, 10.0)
_LOST_EVENTS_TEXT, _REASON_PREFIX = (
    "Some data may have been lost",
    "Reason: ",
)  # parts of Spark's message about events that were deleted from Kafka


class RetryPolicy:
    """Delays after consecutive failures, and the deadlines; a completed batch resets both.

    Args:
        checkpoint_path: folder that the user must delete to skip events that were deleted from
            Kafka; the error message names it.
        last_batch: number of the last completed batch.
    """

    def __init__(self, checkpoint_path: str, last_batch: int) -> None:
        self._checkpoint_path, self._last_batch = checkpoint_path, last_batch
        self._failing_since_s, self._failures = time.monotonic(), 0

    def next_delay_s(self, error: Exception, last_batch: int) -> float:
        """Return the seconds to wait before the next attempt.

        Args:
            error: the failure.
            last_batch: number of the last completed batch.

        Raises:
            StreamError: more than 600 seconds have passed since the first failure after the last
                completed batch, or more than 30 seconds if the query failed because events were
                deleted from Kafka. If no batch has completed since this policy was created, the
                time is counted from its creation.
        """
        if last_batch != self._last_batch:
            self._failing_since_s, self._failures, self._last_batch = (
                time.monotonic(),
                0,
                last_batch,
            )
        failing_s = time.monotonic() - self._failing_since_s
        lost_events = _find_lost_events(str(error))
        if lost_events is not None and failing_s > _LOST_EVENTS_DEADLINE_S:
            raise StreamError(
                f"events were deleted from Kafka before they were read: {lost_events}. To continue "
                f"without them, delete {self._checkpoint_path}: the stream then begins where "
                "[events] starting_offsets says"
            ) from None
        if failing_s > _DEADLINE_S:
            raise StreamError(
                f"no batch has completed for {failing_s:.0f} seconds "
                f"(deadline {_DEADLINE_S:.0f} seconds): {summarize_error(error)}"
            ) from None
        self._failures += 1
        return _DELAYS_S[min(self._failures, len(_DELAYS_S)) - 1]


def summarize_error(error: Exception) -> str:
    """Return the first line of an error's message.

    If the message contains the traceback of a worker in which covey raised an error, the first line
    of that error's message is returned. An error without a message is named by its class.

    >>> summarize_error(OSError("no such file\\nat …"))
    'no such file'
    """
    message = str(extract_worker_error(str(error)) or error)
    return next(iter(message.splitlines()), type(error).__name__)


def _find_lost_events(message: str) -> str | None:
    """Return the reason in Spark's message about events deleted from Kafka.

    None is returned for all other messages.

    >>> reason = "Reason: Could not read [6, 7)"
    >>> message = f"… Some data may have been lost because …\\n{reason}\\nwith …"
    >>> _find_lost_events(message)
    'Could not read [6, 7)'
    """
    _, separator, details = message.partition(_LOST_EVENTS_TEXT)
    return (
        (details.partition(_REASON_PREFIX)[2].splitlines() or [_LOST_EVENTS_TEXT])[0]
        if separator
        else None
    )
