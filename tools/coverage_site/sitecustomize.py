"""Loaded by every Python process of `make coverage`: lets Spark's workers save coverage data.

Spark ends its workers with a signal for which they have no handler. This module adds a handler that
ends them through `os._exit`, in which coverage saves its data.
"""

from __future__ import annotations

import os
import signal
from typing import Any

_set_handler = signal.signal


def _exit(*_: object) -> None:
    os._exit(0)


def _set_handler_that_saves(number: int, handler: Any) -> Any:
    is_end = number == signal.SIGHUP and handler is signal.SIG_DFL
    return _set_handler(number, _exit if is_end else handler)


signal.signal = _set_handler_that_saves  # type: ignore[assignment]
