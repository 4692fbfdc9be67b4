"""Loaded by every Python of `python -m tools.executed_files`: records when each file last ran."""

from __future__ import annotations

import json
import os
import sys
import threading
import time

_FOLDER = os.environ.get("COVEY_EXECUTED", "")
_SOURCES = os.environ.get("COVEY_EXECUTED_SOURCES", "")
_last: dict[str, int] = {}


def _note(code, _offset):  # type: ignore[no-untyped-def]
    if not code.co_filename.startswith(_SOURCES):
        return _monitoring.DISABLE
    if code.co_flags & 1:  # a function, not a module or the body of a class
        _last[code.co_filename] = time.monotonic_ns()
    return None


def _save() -> None:
    path = os.path.join(_FOLDER, f"{os.getpid()}.json")
    saved: dict[str, int] = {}
    while True:
        time.sleep(0.05)
        current = dict(_last)
        if current != saved:
            with open(path + ".partial", "w") as file:
                json.dump(current, file)
            os.replace(path + ".partial", path)
            saved = current


def _start() -> None:
    threading.Thread(target=_save, daemon=True).start()


def _start_in_child() -> None:
    _last.clear()
    _start()


if _FOLDER:
    _monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    _events = _monitoring.events
    _monitoring.use_tool_id(4, "covey")
    for _event in (_events.PY_START, _events.PY_RESUME):
        _monitoring.register_callback(4, _event, _note)
    _monitoring.set_events(4, _events.PY_START | _events.PY_RESUME)
    os.register_at_fork(after_in_child=_start_in_child)
    _start()
