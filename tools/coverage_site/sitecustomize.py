"""Loaded by every Python below `make coverage`: lets Spark's workers save what they have run.

Spark ends its workers with a signal that they have no handler for. Here they have one, which ends
them through `os._exit`, where coverage saves its data.
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
