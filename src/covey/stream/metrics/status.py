"""Status of a stream: a file with the last batches, a Prometheus endpoint, and log records."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections import deque
from dataclasses import asdict
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from covey._types import JsonObject
from covey.errors import InvalidArgumentError
from covey.store.manifest import now_ms
from covey.stream.config import MetricsConfig
from covey.stream.metrics.batch_metrics import BatchMetrics

__all__ = ["STATUS_FILE", "StatusReporter", "read_status"]

_log = logging.getLogger(__name__)

STATUS_FILE = "status.json"
"""Name of the status file inside the state folder."""

_MAX_BATCHES = 60  # number of batches in the status file
_WRITE_INTERVAL_S = 0.5
_COUNTER_FIELDS = (
    "events",
    "notifications",
    "dead_letters",
    "errors",
    "false_candidates",
    "changes",
    "ignored_changes",
    "unreadable_changes",
)
_GAUGE_FIELDS = (
    "batch",
    "version",
    "subscriptions",
    "segments",
    "recent_share",
    "oldest_change_age_ms",
)
_DELAY_BUCKETS_S = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30, 60, 300, 3600)


class StatusReporter:
    """Thread-safe publisher of the metrics of each batch: in a file, for Prometheus, in the log.

    Args:
        folder: folder of the status file. None if the state folder is not on a local file system;
            no file is written then.
        metrics: section `[metrics]` of the configuration.
    """

    def __init__(self, folder: Path | None, metrics: MetricsConfig) -> None:
        self._path = None if folder is None else folder / STATUS_FILE
        self._started_ms = now_ms()
        self._batches: deque[dict[str, Any]] = deque(maxlen=_MAX_BATCHES)
        self._totals = dict.fromkeys(_COUNTER_FIELDS, 0)
        self._last_write_s, self._lock = 0.0, threading.RLock()
        registry = CollectorRegistry()
        self._counters = {
            name: Counter(f"covey_{name}", f"{name} of all batches", registry=registry)
            for name in _COUNTER_FIELDS
        }
        self._gauges = {
            name: Gauge(f"covey_{name}", f"{name} of the last batch", registry=registry)
            for name in _GAUGE_FIELDS
        }
        self._delay = Histogram(
            "covey_delay_seconds",
            "mean delay of a batch",
            registry=registry,
            buckets=_DELAY_BUCKETS_S,
        )
        self._metrics, self._registry = metrics, registry

    def start_prometheus(self) -> None:
        """Start the Prometheus endpoint if a port is configured; it runs until the process ends.

        Raises:
            InvalidArgumentError: the host or the port cannot be used.
        """
        host, port = self._metrics.host, self._metrics.port
        if port is not None:
            try:
                start_http_server(port, host, self._registry)
            except OSError as error:
                raise InvalidArgumentError(
                    f"[metrics] host {host!r}, port {port} cannot be used: {error.strerror}; "
                    "choose another port, or remove the setting"
                ) from None

    def report_batch(self, metrics: BatchMetrics) -> None:
        """Publish the metrics of a batch."""
        fields = asdict(metrics)
        with self._lock:
            for name in _COUNTER_FIELDS:
                self._counters[name].inc(fields[name] or 0)
                self._totals[name] += fields[name] or 0
            for name in _GAUGE_FIELDS:
                self._gauges[name].set(fields[name])
            self._delay.observe(metrics.delay_mean_ms / 1000)
            self._batches.append(fields)
            _log.info("batch", extra=fields)
            self.write_file()

    def write_file(self, *, is_last: bool = False) -> None:
        """Replace the status file, unless it was replaced less than 0.5 seconds ago.

        Nothing is written if the state folder is not on a local file system.

        Args:
            is_last: whether the stream ends. The file is then replaced at any time, and its field
                `is_running` is false.
        """
        with self._lock:
            now = time.monotonic()
            if self._path is None or (now - self._last_write_s < _WRITE_INTERVAL_S and not is_last):
                return
            self._last_write_s = now
            content = {
                "is_running": not is_last,
                "process": os.getpid(),
                "started_ms": self._started_ms,
                "written_ms": now_ms(),
                "totals": self._totals,
                "batches": list(self._batches),
            }
            temporary = self._path.with_suffix(".partial")
            temporary.write_text(json.dumps(content), encoding="utf-8")
            os.replace(temporary, self._path)


def read_status(state_path: str) -> JsonObject | None:
    """Return the content of a state folder's status file; None if it is missing or unreadable."""
    try:
        saved: dict[str, Any] = json.loads(
            Path(state_path, STATUS_FILE).read_text(encoding="utf-8")
        )
        return saved
    except (OSError, ValueError):
        return None
