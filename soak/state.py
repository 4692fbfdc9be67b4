"""Progress of a pipeline, read from the files of its state folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["State"]


@dataclass(frozen=True, slots=True)
class State:
    """The folder `[state] path` of a pipeline, which need not exist."""

    folder: Path

    @property
    def batches(self) -> int:
        """Number of committed batches."""
        return max(_numbers(self.folder / "checkpoint" / "commits"), default=-1) + 1

    @property
    def newest_s(self) -> float:
        """Time of the newest batch decision in seconds since 1970; 0 if there is none."""
        return max(self._records(), default=0.0)

    def done(self, topic: str) -> dict[int, int]:
        """Return for each partition the offset after the events of committed batches."""
        commits = _numbers(self.folder / "checkpoint" / "commits")
        batches = _numbers(self.folder / "checkpoint" / "offsets") & commits
        if not batches:
            return {}
        text = (self.folder / "checkpoint" / "offsets" / str(max(batches))).read_text()
        for line in text.splitlines():
            if line.startswith("{") and topic in (offsets := json.loads(line)):
                return {int(number): offset for number, offset in offsets[topic].items()}
        return {}

    def _records(self) -> Iterator[float]:
        for path in (self.folder / "batches").rglob("*"):
            try:
                if path.is_file():
                    yield path.stat().st_mtime
            except FileNotFoundError:  # removed since it was listed
                continue


def _numbers(folder: Path) -> set[int]:
    """Return the file names that are numbers; Spark's other files in the folder are ignored."""
    if not folder.is_dir():
        return set()
    return {int(path.name) for path in folder.iterdir() if path.name.isdigit()}
