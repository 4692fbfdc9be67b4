"""Notifications as they leave: rows of a topic, a key and a value, made in Spark's workers.

The value is JSON with the id of the event, that of the subscription, and the version that decided
it. Its own id is a function of the first two, so that a repeat is recognised; nothing in it depends
on when or how often it was made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from covey.errors import StreamError
from covey.space import Attribute, Events
from covey.spark.matching import (
    find_computable_rows,
    find_raising_attributes,
    find_undecided_pairs,
    freeze_gc,
    match_bounded,
    rebatch,
    to_events,
)
from covey.spark.validity import VALIDITY
from covey.store import Snapshot
from covey.stream.batches.version_source import VersionSource, get_task_batch
from covey.stream.events.dead_letters import DeadLetterFormatter
from covey.stream.metrics.accumulator import MAX_NAMED_SUBSCRIPTIONS, CountsAccumulator, TaskCounts

__all__ = ["LEADING_COLUMNS", "OUTPUT_SCHEMA", "NotifyTask", "OutputTopics"]

Rows = NDArray[np.integer[Any]]

LEADING_COLUMNS = 4
"""Columns of events that come first: id, dead letter, time, and what is included."""

OUTPUT_SCHEMA = "topic STRING, key BINARY, value BINARY"

_MAX_BATCH_ROWS = 1 << 16  # notifications
_MAX_BATCH_BYTES = 1 << 26  # Arrow's end at 2 GiB
_NEEDS_ESCAPE = np.zeros(256, np.bool_)  # bytes that JSON has another spelling for
_NEEDS_ESCAPE[[*range(32), ord('"'), ord("\\")]] = True
_ARROW_SCHEMA = pa.schema([("topic", pa.string()), ("key", pa.binary()), ("value", pa.binary())])


class OutputTopics(NamedTuple):
    """Where rows go."""

    notifications: str
    dead_letters: str


@dataclass(frozen=True, slots=True)
class NotifyTask:
    """The function of the `mapInArrow` of a stream: matches events with the version of their batch.

    Column `attribute_columns[name]` of what comes in is the attribute of that name; if it
    `is_zoned`, the last one is the zone that all events of the task are in. A row for each match,
    and one for each event that could not be read, as they are written: nothing is done to rows
    after this, of which there are many.
    """

    version_source: VersionSource
    attribute_columns: Mapping[str, int]
    dead_letter_formatter: DeadLetterFormatter
    topics: OutputTopics
    counts: CountsAccumulator | None = None
    is_zoned: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        zone, batches = split_zone_column(batches) if self.is_zoned else (None, batches)
        version = self.version_source.open_snapshot(zone)
        attributes, made = self._select_attribute_columns(version), TaskCounts()
        raising = find_raising_attributes(version.space, version.constrained_attributes)
        for batch in rebatch(batches):
            if unreadable := batch.num_rows - batch.column(1).null_count:
                made = made.combine(TaskCounts(dead_letters=unreadable))
                yield self._build_dead_letters(batch)
            events = to_events(_append_time_column(batch), attributes, version.space)
            for rows, matches in match_bounded(version, events, np.arange(len(events))):
                made = made.combine(
                    TaskCounts(len(matches.event_rows), candidates=matches.candidates)
                )
                some = batch.slice(rows[0], len(rows))
                yield from self._build_notifications(
                    some, matches.event_rows, matches.ids, version.manifest.version
                )
            made = made.combine(self._count_errors(version, batch, events, raising))
        if self.counts is not None:
            self.counts.add(get_task_batch()[1], made)
        freeze_gc()

    def _count_errors(
        self,
        snapshot: Snapshot,
        batch: pa.RecordBatch,
        events: Events,
        raising_expressions: list[Attribute],
    ) -> TaskCounts:
        """Count the pairs of a batch on which Spark raises, and name some of the subscriptions."""
        computable = find_computable_rows(batch, self.attribute_columns, raising_expressions)
        found = TaskCounts()
        for raised in (
            find_undecided_pairs(snapshot, events, computable) if raising_expressions else ()
        ):
            named = (
                raised.subscription_ids.unique()
                .cast(pa.string())
                .slice(0, MAX_NAMED_SUBSCRIPTIONS)
                .to_pylist()
            )
            found = found.combine(
                TaskCounts(errors=len(raised.event_rows), raising_subscriptions=tuple(named))
            )
        return found

    def _select_attribute_columns(self, snapshot: Snapshot) -> dict[str, int]:
        """Where the attributes are that a version looks at; its time comes after all others."""
        places = {**self.attribute_columns, VALIDITY: LEADING_COLUMNS + len(self.attribute_columns)}
        for name in snapshot.constrained_attributes:
            if name not in places:
                raise StreamError(f"version {snapshot.manifest.version} looks at {name}")
        return {name: places[name] for name in snapshot.constrained_attributes}

    def _build_notifications(
        self, events: pa.RecordBatch, query_rows: Rows, subscription_ids: pa.Array, version: int
    ) -> Iterator[pa.RecordBatch]:
        """The notifications of events: row `query_rows[i]` matches `subscription_ids[i]`."""
        event, included = _escape_json(events.column(0)), events.column(3)
        before = pc.binary_join_element_wise('{"id":"', event, "/", "")
        between = pc.binary_join_element_wise('","event":"', event, '","subscription":"', "")
        after = f'","version":{version}'
        at_once = _compute_batch_rows(event, included, subscription_ids)
        for start in range(0, len(query_rows), at_once):
            rows = pa.array(query_rows[start : start + at_once])
            to = subscription_ids.slice(start, len(rows)).cast(pa.string())
            name, tail = _escape_json(to), [after + "}"]
            if included.null_count < len(included):
                tail = [after + ',"event_values":', included.take(rows), "}"]
            values = pc.binary_join_element_wise(
                before.take(rows), name, between.take(rows), name, *tail, ""
            )
            yield _build_batch(self.topics.notifications, to.cast(pa.binary()), values)

    def _build_dead_letters(self, events: pa.RecordBatch) -> pa.RecordBatch:
        """The dead letters of events that could not be read."""
        letters = events.column(1).drop_null().to_pylist()
        values = [self.dead_letter_formatter.format_letter(one) for one in letters]
        return _build_batch(
            self.topics.dead_letters,
            pa.array([one["key"] for one in letters], pa.binary()),
            pa.array(values, pa.string()),
        )


def split_zone_column(
    batches: Iterator[pa.RecordBatch],
) -> tuple[int | None, Iterator[pa.RecordBatch]]:
    """The zone that the last column says, None if there is no row; and batches without it."""
    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        return None, iter(())
    last = first.num_columns - 1
    rest = (batch.remove_column(last) for batch in chain([first], batches))
    return first.column(last)[0].as_py(), rest


def _append_time_column(events: pa.RecordBatch) -> pa.RecordBatch:
    """Events with their time as the last column.

    One that could not be read has none, so that nobody's lifetime contains it.
    """
    letter, at = events.column(1), events.column(2)
    if letter.null_count < len(letter):
        at = pc.if_else(letter.is_valid(), pa.scalar(None, at.type), at)
    return events.append_column(VALIDITY, at)


def _compute_batch_rows(*texts: pa.Array) -> int:
    """How many notifications are made at once, if each has the longest of these."""
    longest = sum(pc.max(pc.binary_length(one)).as_py() or 0 for one in texts)
    return max(1, min(_MAX_BATCH_ROWS, _MAX_BATCH_BYTES // (2 * longest + 1)))


def _build_batch(topic: str, keys: pa.Array, values: pa.Array) -> pa.RecordBatch:
    columns = [pa.repeat(topic, len(keys)), keys, values.cast(pa.binary())]
    return pa.RecordBatch.from_arrays(columns, schema=_ARROW_SCHEMA)


def _escape_json(texts: pa.Array) -> pa.Array:
    """Texts as they stand between quotes in JSON.

    >>> _escape_json(pa.array(['a"b', "c"])).to_pylist()
    ['a\\\\"b', 'c']
    """
    _, offsets, data = texts.buffers()
    if data is None:
        return texts
    first, end = np.frombuffer(offsets, np.int32)[[texts.offset, texts.offset + len(texts)]]
    if not _NEEDS_ESCAPE[np.frombuffer(data, np.uint8)[first:end]].any():
        return texts
    return pa.array([json.dumps(text, ensure_ascii=False)[1:-1] for text in texts.to_pylist()])
