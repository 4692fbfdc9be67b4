"""Maintenance of a stream in a background thread.

The thread reads the control topic between batches, so that the next batch has little to read. It
removes expired subscriptions, deletes versions and decisions beyond the retention, and updates the
status file, which shows that the stream is alive.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable

from covey.errors import CoveyError
from covey.store.storage import StorageBackend
from covey.stream.config import StateConfig
from covey.stream.control.subscriptions import LiveSubscriptions

__all__ = ["CONTROL_POSITION_FILE", "MaintenanceThread"]

_log = logging.getLogger(__name__)

CONTROL_POSITION_FILE = "control.json"
"""Name of the file in the state folder with the position and the time of the last sync.

The position is the next offset of each partition of the control topic.
"""

_SYNC_INTERVAL_S, _REPORT_INTERVAL_S, _SAVE_INTERVAL_S, _VACUUM_INTERVAL_S = 0.5, 5.0, 15.0, 60.0
_WARNING_INTERVAL_S = 30.0  # a warning for every failure would be one per second without Kafka


class MaintenanceThread:
    """Thread that runs the maintenance tasks until `close` is called.

    If a task fails, the task is run again later, and the error is logged, at most every 30 seconds.

    Args:
        subscriptions: the subscriptions to sync with the control topic and to vacuum.
        state: section `[state]` of the configuration.
        folder: storage backend of the state folder.
        report_status: function that writes the status; it is called about every five seconds, even
            if no batch runs.
    """

    def __init__(
        self,
        subscriptions: LiveSubscriptions,
        state: StateConfig,
        folder: StorageBackend,
        report_status: Callable[[], None],
    ) -> None:
        self._subscriptions, self._state, self._report_status = subscriptions, state, report_status
        self._state_folder = folder
        self._stop_requested = threading.Event()
        self._last_report_s = self._last_save_s = self._last_vacuum_s = time.monotonic()
        self._last_warning_s = float("-inf")
        self._thread = threading.Thread(target=self._run, name="covey-maintenance", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread and save the position in the control topic."""
        self._stop_requested.set()
        self._thread.join()
        try:
            self._save_position()
        except (CoveyError, OSError):
            _log.exception("the position in the control topic could not be saved")

    def _run(self) -> None:
        while not self._stop_requested.wait(1.0):
            try:
                self._run_due_tasks()
            except (CoveyError, OSError) as error:
                if time.monotonic() - self._last_warning_s > _WARNING_INTERVAL_S:
                    self._last_warning_s = time.monotonic()
                    details = {"error": str(error)}
                    _log.warning("a maintenance task failed and will be run again", extra=details)

    def _run_due_tasks(self) -> None:
        if time.monotonic() - self._last_report_s > _REPORT_INTERVAL_S:
            self._last_report_s = time.monotonic()
            self._report_status()
        if time.time() - self._subscriptions.control_position[1] > _SYNC_INTERVAL_S:
            self._subscriptions.sync_control()
        if time.monotonic() - self._last_save_s > _SAVE_INTERVAL_S:
            self._save_position()
        if time.monotonic() - self._last_vacuum_s > min(
            _VACUUM_INTERVAL_S, self._state.retention_s
        ):
            self._last_vacuum_s = time.monotonic()
            self._subscriptions.vacuum(self._state.retention_s)

    def _save_position(self) -> None:
        self._last_save_s = time.monotonic()
        position, read_at = self._subscriptions.control_position
        content = {"read_ms": round(read_at * 1000), "position": position}
        self._state_folder.replace(CONTROL_POSITION_FILE, json.dumps(content).encode())
