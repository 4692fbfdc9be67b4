"""Reader of Spark's checkpoint: id of the query, offset ranges of batches, committed batches."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from covey.errors import StreamError
from covey.store.storage import StorageBackend
from covey.stream.batches.decision_log import OffsetRanges

__all__ = ["CHECKPOINT_FOLDER", "Checkpoint"]

CHECKPOINT_FOLDER = "checkpoint"
"""Name of the checkpoint folder inside the state folder."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Checkpoint folder of a query that has one Kafka source; it is only read."""

    storage: StorageBackend

    def read_query_id(self) -> str:
        """Return the id of the query, which stays the same across restarts."""
        metadata = json.loads(self._read_text("metadata"))
        return str(metadata["id"])

    def is_committed(self, batch: int) -> bool:
        """Return whether Spark has recorded that a batch is complete."""
        return any(entry.name == str(batch) for entry in self.storage.list("commits"))

    def find_next_batch(self) -> int:
        """Return the number of the next batch to run.

        It is 1 more than the number of the last committed batch, or 0 if none is committed.
        """
        committed = [
            int(entry.name) for entry in self.storage.list("commits") if entry.name.isdigit()
        ]
        return max(committed, default=-1) + 1

    def has_offsets(self, batch: int) -> bool:
        """Return whether Spark has recorded the offsets of a batch."""
        try:
            self.storage.read(f"offsets/{batch}")
        except FileNotFoundError:
            return False
        return True

    def read_offset_ranges(self, batch: int) -> OffsetRanges:
        """Return the offset ranges of a batch whose offsets Spark has recorded.

        Raises:
            StreamError: a file of the checkpoint is missing.
        """
        ends = self._read_end_offsets(batch)
        starts = self._read_end_offsets(batch - 1) if batch else self._read_initial_offsets()
        return {
            topic: {
                partition: (starts.get(topic, {}).get(partition, 0), end)
                for partition, end in sorted(offsets.items())
            }
            for topic, offsets in sorted(ends.items())
        }

    def read_time_ms(self, batch: int) -> int:
        """Return the time of a batch whose offsets Spark has recorded, in ms since 1970.

        Raises:
            StreamError: a file of the checkpoint is missing.
        """
        metadata = json.loads(self._read_text(f"offsets/{batch}").splitlines()[1])
        return int(metadata["batchTimestampMs"])

    def read_next_offsets(self) -> dict[str, dict[str, int]] | None:
        """Return the offsets at which the next batch begins, or None if the query never started.

        The result contains an offset for each partition of each topic.

        Raises:
            StreamError: a file of the checkpoint is missing.
        """
        batch = self.find_next_batch()
        try:
            if batch:
                return self._read_end_offsets(batch - 1)
            self.storage.read("sources/0/0")
        except FileNotFoundError:
            return None
        return self._read_initial_offsets()

    def _read_end_offsets(self, batch: int) -> dict[str, dict[str, int]]:
        # The lines are a version, metadata, and one line per source.
        lines = self._read_text(f"offsets/{batch}").splitlines()
        return _parse_offsets(lines[-1])

    def _read_initial_offsets(self) -> dict[str, dict[str, int]]:
        lines = self._read_text("sources/0/0").splitlines()
        return _parse_offsets(lines[-1])

    def _read_text(self, name: str) -> str:
        try:
            return self.storage.read(name).decode()
        except FileNotFoundError:
            raise StreamError(
                f"{self.storage.location} has no {name}: it is not a checkpoint of a stream, or "
                "some of its files were deleted. If you delete the whole folder, the stream begins "
                "where [events] starting_offsets says"
            ) from None


def _parse_offsets(line: str) -> dict[str, dict[str, int]]:
    offsets: dict[str, Any] = json.loads(line)
    return offsets
