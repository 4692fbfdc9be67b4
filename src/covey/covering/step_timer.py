"""Timer that measures the duration of consecutive steps."""

from __future__ import annotations

import time

__all__ = ["StepTimer"]


class StepTimer:
    """Timer of consecutive steps, which starts when it is created.

    `seconds_by_step` contains the duration of each step that has ended.
    """

    def __init__(self) -> None:
        self.seconds_by_step: dict[str, float] = {}
        self._last_lap_s = time.perf_counter()

    def lap(self, step: str) -> None:
        """Record the duration of the step that has just ended, and start the next one."""
        now = time.perf_counter()
        self.seconds_by_step[step] = now - self._last_lap_s
        self._last_lap_s = now
