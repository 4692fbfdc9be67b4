"""What Spark writes down of a query before it runs a batch: the query's id, and which events."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from covey.errors import StreamError
from covey.store.storage import StorageBackend
from covey.stream.batches.decision_log import OffsetRanges

__all__ = ["CHECKPOINT_FOLDER", "Checkpoint"]

CHECKPOINT_FOLDER = "checkpoint"
"""Its folder in that of a stream's state."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint folder of a query with one Kafka source."""

    storage: StorageBackend

    def read_query_id(self) -> str:
        """The id of the query, which stays the same however often it is started."""
        saved = json.loads(self._read_text("metadata"))
        return str(saved["id"])

    def is_committed(self, batch: int) -> bool:
        """Whether Spark has written down that a batch is done."""
        return any(one.name == str(batch) for one in self.storage.list("commits"))

    def find_next_batch(self) -> int:
        """The batch that is run next, or again."""
        done = [int(one.name) for one in self.storage.list("commits") if one.name.isdigit()]
        return max(done, default=-1) + 1

    def has_offsets(self, batch: int) -> bool:
        """Whether Spark has written down which events a batch has."""
        try:
            self.storage.read(f"offsets/{batch}")
        except FileNotFoundError:
            return False
        return True

    def read_offset_ranges(self, batch: int) -> OffsetRanges:
        """The events of a batch whose offsets Spark has fixed."""
        ends = self._read_end_offsets(batch)
        starts = self._read_end_offsets(batch - 1) if batch else self._read_initial_offsets()
        return {
            topic: {
                partition: (starts.get(topic, {}).get(partition, 0), end)
                for partition, end in sorted(offsets.items())
            }
            for topic, offsets in sorted(ends.items())
        }

    def read_next_offsets(self) -> dict[str, dict[str, int]] | None:
        """Return the first offsets that are not done, or None if the query has never begun."""
        batch = self.find_next_batch()
        try:
            if batch:
                return self._read_end_offsets(batch - 1)
            self.storage.read("sources/0/0")
        except FileNotFoundError:
            return None
        return self._read_initial_offsets()

    def _read_end_offsets(self, batch: int) -> dict[str, dict[str, int]]:
        lines = self._read_text(f"offsets/{batch}").splitlines()  # version, metadata, one a source
        return _parse_offsets(lines[-1])

    def _read_initial_offsets(self) -> dict[str, dict[str, int]]:
        lines = self._read_text("sources/0/0").splitlines()
        return _parse_offsets(lines[-1])

    def _read_text(self, name: str) -> str:
        try:
            return self.storage.read(name).decode()
        except FileNotFoundError:
            raise StreamError(
                f"{self.storage.location} has no {name}: it is no checkpoint of a stream, or files "
                "of it were deleted. Delete the whole folder to begin with new events"
            ) from None


def _parse_offsets(line: str) -> dict[str, dict[str, int]]:
    found: dict[str, Any] = json.loads(line)
    return found
