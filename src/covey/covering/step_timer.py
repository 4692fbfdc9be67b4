"""How long steps take that follow each other."""

from __future__ import annotations

import time

__all__ = ["StepTimer"]


class StepTimer:
    """Runs from when it is made; `seconds_by_step` has those of each step that has ended."""

    def __init__(self) -> None:
        self.seconds_by_step: dict[str, float] = {}
        self._last_lap_s = time.perf_counter()

    def lap(self, step: str) -> None:
        """Says which step has just ended."""
        now = time.perf_counter()
        self.seconds_by_step[step] = now - self._last_lap_s
        self._last_lap_s = now
