"""How long steps take that follow each other."""

from __future__ import annotations

import time

__all__ = ["Clock"]


class Clock:
    """Runs from when it is made; `seconds` has those of each step that has ended."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def took(self, step: str) -> None:
        """Says which step has just ended."""
        now = time.perf_counter()
        self.seconds[step] = now - self._last
        self._last = now
