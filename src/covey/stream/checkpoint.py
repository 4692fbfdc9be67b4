"""What Spark writes down of a query before it runs a batch: the query's id, and which events."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from covey.errors import StreamError
from covey.store.directory import Directory
from covey.stream.records import Offsets

__all__ = ["CHECKPOINT", "Checkpoint"]

CHECKPOINT = "checkpoint"
"""Its folder in that of a stream's state."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint folder of a query with one Kafka source."""

    directory: Directory

    def query(self) -> str:
        """The id of the query, which stays the same however often it is started."""
        saved = json.loads(self._text("metadata"))
        return str(saved["id"])

    def is_committed(self, batch: int) -> bool:
        """Whether Spark has written down that a batch is done."""
        return any(one.name == str(batch) for one in self.directory.list("commits"))

    def next_batch(self) -> int:
        """The batch that is run next, or again."""
        done = [int(one.name) for one in self.directory.list("commits") if one.name.isdigit()]
        return max(done, default=-1) + 1

    def is_fixed(self, batch: int) -> bool:
        """Whether Spark has written down which events a batch has."""
        try:
            self.directory.read(f"offsets/{batch}")
        except FileNotFoundError:
            return False
        return True

    def events(self, batch: int) -> Offsets:
        """The events of a batch whose offsets Spark has fixed."""
        ends = self._ends(batch)
        starts = self._ends(batch - 1) if batch else self._initial()
        return {
            topic: {
                partition: (starts.get(topic, {}).get(partition, 0), end)
                for partition, end in sorted(offsets.items())
            }
            for topic, offsets in sorted(ends.items())
        }

    def _ends(self, batch: int) -> dict[str, dict[str, int]]:
        lines = self._text(f"offsets/{batch}").splitlines()  # version, metadata, one a source
        return _offsets(lines[-1])

    def _initial(self) -> dict[str, dict[str, int]]:
        lines = self._text("sources/0/0").splitlines()
        return _offsets(lines[-1])

    def _text(self, name: str) -> str:
        try:
            return self.directory.read(name).decode()
        except FileNotFoundError:
            raise StreamError(
                f"{self.directory.place} has no {name}: it is no checkpoint of a stream, or files "
                "of it were deleted. Delete the whole folder to begin with new events"
            ) from None


def _offsets(line: str) -> dict[str, dict[str, int]]:
    found: dict[str, Any] = json.loads(line)
    return found
