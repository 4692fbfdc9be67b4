"""What a stream does beside its batches: follow the control topic while none begins, so that the
next has little to wait for, forget what is over, delete what is older than the retention, say that
it is still there.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable

from covey.errors import CoveyError
from covey.store.places import directory_at
from covey.stream.config import State
from covey.stream.subscriptions import LiveSubscriptions

__all__ = ["FOLLOWED", "Upkeep"]

_log = logging.getLogger(__name__)

FOLLOWED = "control.json"
"""The file of the state folder that says when the control topic was last read to its end."""

_BEHIND_S, _TOLD_S, _NOTED_S, _CLEANED_S = 0.5, 5.0, 15.0, 60.0
_WARNED_S = 30.0  # while Kafka is away, all fails every second


class Upkeep:
    """A thread that does it, from now until `close`; what fails is logged and done again.

    `tell` is called every few seconds, whether there are batches or not.
    """

    def __init__(
        self, subscriptions: LiveSubscriptions, state: State, tell: Callable[[], None]
    ) -> None:
        self._subscriptions, self._state, self._tell = subscriptions, state, tell
        self._ending = threading.Event()
        self._told = self._noted = self._cleaned = time.monotonic()
        self._warned = float("-inf")
        self._thread = threading.Thread(target=self._run, name="covey-upkeep", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops it, and notes up to where the control topic was read."""
        self._ending.set()
        self._thread.join()
        try:
            self._note()
        except (CoveyError, OSError):
            _log.exception("upkeep failed")

    def _run(self) -> None:
        while not self._ending.wait(1.0):
            try:
                self._step()
            except (CoveyError, OSError) as error:
                if time.monotonic() - self._warned > _WARNED_S:
                    self._warned = time.monotonic()
                    _log.warning("upkeep failed; it is done again", extra={"error": str(error)})

    def _step(self) -> None:
        if time.monotonic() - self._told > _TOLD_S:
            self._told = time.monotonic()
            self._tell()
        if time.time() - self._subscriptions.followed[1] > _BEHIND_S:
            self._subscriptions.follow()
        if time.monotonic() - self._noted > _NOTED_S:
            self._note()
        if time.monotonic() - self._cleaned > min(_CLEANED_S, self._state.retention_s):
            self._cleaned = time.monotonic()
            self._subscriptions.clean(self._state.retention_s)

    def _note(self) -> None:
        self._noted = time.monotonic()
        position, read_at = self._subscriptions.followed
        content = {"read_ms": round(read_at * 1000), "position": position}
        directory_at(self._state.path).replace(FOLLOWED, json.dumps(content).encode())
