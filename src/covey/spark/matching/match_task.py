"""Matching of events in Spark's workers: the `mapInArrow` function with which `transform` matches.

Batches are joined until they are large enough to match efficiently, and split if they have too many
matches. So the memory of a worker is limited, unless a single event has very many matches.
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

_MAX_BATCH_EVENTS, _MAX_BATCH_BYTES = 1 << 15, 32 << 20  # limits of a batch
_MAX_PAIRS = 1 << 22  # approximate limit of the pairs of a segment, except for a single event


@dataclass(frozen=True, slots=True)
class MatchTask:
    """Function of a `mapInArrow` that matches events with one version of a store.

    Args:
        location: location of the store.
        version: number of the version.
        label: label of the version.
        attribute_columns: number of the column of each attribute. Columns are not found by name,
            because the name of an attribute may be any expression.
        output_format: conversion of matches to rows.
        zone_column: number of the column with the zone of each event; None if the version has no
            zones. All events of a task must be in the same zone.
    """

    location: str
    version: int
    label: str | None
    attribute_columns: Mapping[str, int]
    output_format: OutputFormat
    zone_column: int | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in rebatch(batches):
            snapshot = self._open_snapshot(batch)
            events = to_events(batch, self.attribute_columns, snapshot.space)
            for rows, matches in match_bounded(snapshot, events, np.arange(len(events))):
                portion = batch.slice(rows[0], len(rows))
                yield from self.output_format.to_batches(portion, matches)
        freeze_gc()

    def _open_snapshot(self, batch: pa.RecordBatch) -> Snapshot:
        if self.zone_column is None:
            return open_snapshot(self.location, self.version, self.label)
        return open_zone_snapshot(
            self.location, self.version, self.label, batch.column(self.zone_column)[0].as_py()
        )


def to_events(batch: pa.RecordBatch, attribute_columns: Mapping[str, int], space: Space) -> Events:
    """Return the rows of a batch as events.

    `attribute_columns` contains the number of the column of each attribute.
    """
    columns = [batch.column(position) for position in attribute_columns.values()]
    attributes = pa.RecordBatch.from_arrays(columns, list(attribute_columns))
    return replace(Events.from_arrow(attributes, space), count=batch.num_rows)


def rebatch(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in other batches, which are as large as the limits allow.

    A batch has at most `_MAX_BATCH_EVENTS` rows and about `_MAX_BATCH_BYTES` bytes, and is not
    empty.
    """
    pending: list[pa.RecordBatch] = []
    for batch in batches:
        for piece in _slice_batch(batch):
            if pending and _exceeds_batch_limits([*pending, piece]):
                yield _concat_batches(pending)
                pending = []
            pending.append(piece)
    if pending:
        yield _concat_batches(pending)


def _slice_batch(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield a batch in slices of nearly equal row counts.

    The slices are within the limits of a batch if the rows have similar sizes.
    """
    slices = max(-(-batch.num_rows // _MAX_BATCH_EVENTS), -(-batch.nbytes // _MAX_BATCH_BYTES))
    slices = min(slices, batch.num_rows)
    for number in range(slices):
        start, stop = (batch.num_rows * n // slices for n in (number, number + 1))
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
    """Yield portions of events with their matches.

    No segment has more than about `_MAX_PAIRS` matches in a portion, unless the portion is a single
    event.

    Args:
        snapshot: the subscriptions.
        events: the events.
        event_rows: row numbers of the events to match, ascending and without gaps.

    Yields:
        Row numbers of the events of a portion, and the matches of these events. In the matches,
        events are numbered from 0 within the portion.
    """
    try:
        query_events = events if len(event_rows) == len(events) else events.take(event_rows)
        matches = snapshot.match_ids(query_events, max_pairs=_MAX_PAIRS)
    except ResultTooLargeError:
        half = len(event_rows) // 2
        yield from match_bounded(snapshot, events, event_rows[:half])
        yield from match_bounded(snapshot, events, event_rows[half:])
    else:
        yield event_rows, matches
