"""What a stream says of itself: the last batches in a file, figures for Prometheus, and a log."""

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

from covey.errors import ValueRefused
from covey.store.writer import now_ms
from covey.stream.config import Metrics
from covey.stream.figures import Figures

__all__ = ["FILE", "Status", "read_status"]

_log = logging.getLogger(__name__)

FILE = "status.json"
_KEPT = 60  # batches
_EVERY_S = 0.5
_COUNTED = (
    "events",
    "notifications",
    "dead_letters",
    "errors",
    "in_vain",
    "changes",
    "ignored",
    "unreadable",
)
_SHOWN = ("batch", "version", "subscriptions", "segments", "recent_share", "oldest_change_ms")
_DELAYS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30, 60, 300, 3600)


class Status:
    """Takes the figures of each batch. For any number of threads."""

    def __init__(self, folder: Path | None, metrics: Metrics) -> None:
        self._path = None if folder is None else folder / FILE
        self._started_ms = now_ms()
        self._batches: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self._totals = dict.fromkeys(_COUNTED, 0)
        self._written, self._lock = 0.0, threading.RLock()
        registry = CollectorRegistry()
        self._counters = {
            name: Counter(f"covey_{name}", f"{name} of all batches", registry=registry)
            for name in _COUNTED
        }
        self._gauges = {
            name: Gauge(f"covey_{name}", f"{name} of the last batch", registry=registry)
            for name in _SHOWN
        }
        self._delay = Histogram(
            "covey_delay_seconds", "mean delay of a batch", registry=registry, buckets=_DELAYS
        )
        self._metrics, self._registry = metrics, registry

    def serve(self) -> None:
        """Lets Prometheus in, from now until the process ends."""
        port = self._metrics.port
        if port is not None:
            try:
                start_http_server(port, self._metrics.host, self._registry)
            except OSError as error:
                raise ValueRefused(
                    f"[metrics] port {port} cannot be used: {error.strerror}"
                ) from None

    def batch(self, figures: Figures) -> None:
        """One more batch."""
        shown = asdict(figures)
        with self._lock:
            for name in _COUNTED:
                self._counters[name].inc(shown[name] or 0)
                self._totals[name] += shown[name] or 0
            for name in _SHOWN:
                self._gauges[name].set(shown[name])
            self._delay.observe(figures.delay_mean_ms / 1000)
            self._batches.append(shown)
            _log.info("batch", extra=shown)
            self.write()

    def write(self, is_last: bool = False) -> None:
        """Renews the file, not more often than people can read; for sure if it is the last time."""
        with self._lock:
            now = time.monotonic()
            if self._path is None or (now - self._written < _EVERY_S and not is_last):
                return
            self._written = now
            saved = {
                "is_running": not is_last,
                "process": os.getpid(),
                "started_ms": self._started_ms,
                "written_ms": now_ms(),
                "totals": self._totals,
                "batches": list(self._batches),
            }
            temporary = self._path.with_suffix(".partial")
            temporary.write_text(json.dumps(saved), encoding="utf-8")
            os.replace(temporary, self._path)


def read_status(folder: str) -> dict[str, Any] | None:
    """What the stream of a state folder last said; None if it has said nothing."""
    try:
        saved: dict[str, Any] = json.loads(Path(folder, FILE).read_text(encoding="utf-8"))
        return saved
    except (OSError, ValueError):
        return None
