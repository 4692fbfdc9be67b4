"""Events to matches, in Spark's workers: the function of the one `mapInArrow` of a `transform`.

Batches are brought together until matching them pays, and apart again where an answer would be too
large: memory is bounded by what one event matches, not by a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.errors import ResultTooLargeError
from covey.space import Events, Space
from covey.spark.matching.output import OutputFormat
from covey.spark.matching.worker_cache import freeze_gc, open_snapshot, open_zone_snapshot
from covey.store import IdMatches, Snapshot

__all__ = ["MatchTask", "match_bounded", "rebatch", "to_events"]

Rows = NDArray[np.int64]

_MAX_BATCH_EVENTS, _MAX_BATCH_BYTES = 1 << 15, 32 << 20  # at once
_MAX_PAIRS = 1 << 22  # at once, unless one event alone has more


@dataclass(frozen=True, slots=True)
class MatchTask:
    """Matches batches of events against one version of a store.

    Column `attributes[name]` of a batch is the attribute of that name; `shape` says what is made of
    the matches. Names of columns do not count: an attribute may be any expression. All events of a
    task are in the zone that column `zone` says, if there is one.
    """

    location: str
    version: int
    label: str | None
    attribute_columns: Mapping[str, int]
    output_format: OutputFormat
    zone_column: int | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in rebatch(batches):
            version = self._open_snapshot(batch)
            events = to_events(batch, self.attribute_columns, version.space)
            for rows, matches in match_bounded(version, events, np.arange(len(events))):
                some = batch.slice(rows[0], len(rows))
                yield from self.output_format.to_batches(some, matches.event_rows, matches.ids)
        freeze_gc()

    def _open_snapshot(self, batch: pa.RecordBatch) -> Snapshot:
        if self.zone_column is None:
            return open_snapshot(self.location, self.version, self.label)
        return open_zone_snapshot(
            self.location, self.version, self.label, batch.column(self.zone_column)[0].as_py()
        )


def to_events(batch: pa.RecordBatch, attribute_columns: Mapping[str, int], space: Space) -> Events:
    """The events of a batch, of which column `attributes[name]` is the attribute of that name."""
    columns = [batch.column(position) for position in attribute_columns.values()]
    given = pa.RecordBatch.from_arrays(columns, list(attribute_columns))
    return replace(Events.from_arrow(given, space), count=batch.num_rows)


def rebatch(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of about `_MAX_BATCH_EVENTS`, or fewer if large; none is empty."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        for part in _slice_batch(batch):
            if waiting and _exceeds_batch_limits([*waiting, part]):
                yield _concat_batches(waiting)
                waiting = []
            waiting.append(part)
    if waiting:
        yield _concat_batches(waiting)


def _slice_batch(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in equal parts that are not too large, as far as rows are alike."""
    parts = max(-(-batch.num_rows // _MAX_BATCH_EVENTS), -(-batch.nbytes // _MAX_BATCH_BYTES))
    parts = min(parts, batch.num_rows)
    for part in range(parts):
        start, stop = (batch.num_rows * n // parts for n in (part, part + 1))
        yield batch.slice(start, stop - start)


def _exceeds_batch_limits(batches: list[pa.RecordBatch]) -> bool:
    rows = sum(batch.num_rows for batch in batches)
    return (
        rows > _MAX_BATCH_EVENTS or sum(int(batch.nbytes) for batch in batches) > _MAX_BATCH_BYTES
    )


def _concat_batches(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def match_bounded(
    snapshot: Snapshot, events: Events, event_rows: Rows
) -> Iterator[tuple[Rows, IdMatches]]:
    """Yield consecutive rows of events with their matches, in portions that are not too large.

    Row i of the matches of a portion is row i of its events.
    """
    try:
        asked = events if len(event_rows) == len(events) else events.take(event_rows)
        matches = snapshot.match_ids(asked, max_pairs=_MAX_PAIRS)
    except ResultTooLargeError:
        half = len(event_rows) // 2
        yield from match_bounded(snapshot, events, event_rows[:half])
        yield from match_bounded(snapshot, events, event_rows[half:])
    else:
        yield event_rows, matches
