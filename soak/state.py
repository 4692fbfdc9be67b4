"""What the pipeline's state folder says from outside: that it makes progress, and how far it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["State"]


@dataclass(frozen=True, slots=True)
class State:
    """The folder `[state] path` of a pipeline, which may not be there yet."""

    folder: Path

    @property
    def batches(self) -> int:
        """How many batches are done."""
        return max(_numbers(self.folder / "checkpoint" / "commits"), default=-1) + 1

    @property
    def newest_s(self) -> float:
        """When the newest batch was put on record, in seconds since 1970; 0 if never."""
        return max(self._records(), default=0.0)

    def done(self, topic: str) -> dict[int, int]:
        """Of every partition, the offset up to which events are in batches that are done."""
        commits = _numbers(self.folder / "checkpoint" / "commits")
        batches = _numbers(self.folder / "checkpoint" / "offsets") & commits
        if not batches:
            return {}
        text = (self.folder / "checkpoint" / "offsets" / str(max(batches))).read_text()
        for line in text.splitlines():
            if line.startswith("{") and topic in (said := json.loads(line)):
                return {int(number): offset for number, offset in said[topic].items()}
        return {}

    def _records(self) -> Iterator[float]:
        for path in (self.folder / "batches").rglob("*"):
            try:
                if path.is_file():
                    yield path.stat().st_mtime
            except FileNotFoundError:  # removed since it was listed
                continue


def _numbers(folder: Path) -> set[int]:
    """The names that are numbers; Spark's own files beside them have others."""
    if not folder.is_dir():
        return set()
    return {int(path.name) for path in folder.iterdir() if path.name.isdigit()}
