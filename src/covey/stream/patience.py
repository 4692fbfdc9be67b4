"""For how long a stream that fails is tried again: as long as somebody may mend what is wrong."""

from __future__ import annotations

import time

from covey.errors import StreamError, raised_elsewhere

__all__ = ["Patience", "in_short"]

_S, _LOST_S = 600.0, 30.0
_PAUSES_S = (1.0, 2.0, 5.0, 10.0)
_LOST, _WHY = "Some data may have been lost", "Reason: "  # as Spark says that events are gone


class Patience:
    """Is told of failures; every batch that is done makes it begin again.

    `checkpoint` is what a user would delete to go on without events that are gone.
    """

    def __init__(self, checkpoint: str, done: int) -> None:
        self._checkpoint, self._done = checkpoint, done
        self._since, self._failures = time.monotonic(), 0

    def pause_s(self, error: Exception, done: int) -> float:
        """How long to wait after a failure; `done` is the last batch that was done.

        When it has lasted too long it is a `StreamError`.
        """
        if done != self._done:
            self._since, self._failures, self._done = time.monotonic(), 0, done
        failing_s, lost = time.monotonic() - self._since, _lost(str(error))
        if lost is not None and failing_s > _LOST_S:
            raise StreamError(
                f"events were deleted from Kafka before they were read: {lost}. To go on without "
                f"them, delete {self._checkpoint}"
            ) from None
        if failing_s > _S:
            raise StreamError(f"the stream fails again and again: {in_short(error)}") from None
        self._failures += 1
        return _PAUSES_S[min(self._failures, len(_PAUSES_S)) - 1]


def in_short(error: Exception) -> str:
    """What failed, in a line.

    >>> in_short(OSError("no such file\\nat …"))
    'no such file'
    """
    return str(raised_elsewhere(str(error)) or error).splitlines()[0]


def _lost(said: str) -> str | None:
    """Which events are gone from Kafka, if that is what Spark says.

    >>> _lost("… Some data may have been lost because …\\nReason: Could not read [6, 7)\\nwith …")
    'Could not read [6, 7)'
    """
    _, found, rest = said.partition(_LOST)
    return (rest.partition(_WHY)[2].splitlines() or [_LOST])[0] if found else None
