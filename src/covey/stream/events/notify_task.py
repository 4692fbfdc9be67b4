"""Matching of events in Spark's workers, which return output rows: topic, key and value.

The value of a notification is JSON with the ids of the notification, the event and the
subscription, the version that decided, and the included columns of the event. The id of the
notification consists of the ids of event and subscription, so that consumers recognise duplicates.
The value does not depend on the time or the number of attempts.
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
from pyspark.sql.types import StructType

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
from covey.stream.events.late_rows import NO_LATE_ROWS, LateRows
from covey.stream.metrics.accumulator import MAX_NAMED_SUBSCRIPTIONS, CountsAccumulator, TaskCounts

__all__ = ["LEADING_COLUMNS", "OUTPUT_SCHEMA", "NotifyTask", "OutputTopics"]

Rows = NDArray[np.integer[Any]]

LEADING_COLUMNS = 4
"""Number of columns before the attributes.

They are the event id, the dead letter, the append time, and the JSON of the included columns.
"""

OUTPUT_SCHEMA = StructType().add("topic", "string").add("key", "binary").add("value", "binary")

_MAX_BATCH_ROWS = 1 << 16  # notifications in an output batch
_MAX_BATCH_BYTES = 1 << 26  # well below 2 GiB, Arrow's limit for a column of strings
_NEEDS_ESCAPE = np.zeros(256, np.bool_)  # whether a byte must be escaped in JSON
_NEEDS_ESCAPE[[*range(32), ord('"'), ord("\\")]] = True
_ARROW_SCHEMA = pa.schema([("topic", pa.string()), ("key", pa.binary()), ("value", pa.binary())])


class OutputTopics(NamedTuple):
    """Topics of output rows: one for notifications, one for dead letters."""

    notifications: str
    dead_letters: str


@dataclass(frozen=True, slots=True)
class NotifyTask:
    """Function for `mapInArrow` that matches events and returns complete output rows.

    It returns a row for each match, and one for each event that could not be decoded. Spark writes
    the rows unchanged, because there may be too many to process further.

    Args:
        version_source: source of the version to match with.
        attribute_columns: for each attribute, the number of its input column.
        dead_letter_formatter: formatter of dead letters.
        topics: topics of the output rows.
        counts: accumulator to which the task adds counts; None to count nothing.
        is_zoned: whether the last input column is the zone, which is the same for all events of
            the task.
        late: late conditions, and the columns of events that they read.
    """

    version_source: VersionSource
    attribute_columns: Mapping[str, int]
    dead_letter_formatter: DeadLetterFormatter
    topics: OutputTopics
    counts: CountsAccumulator | None = None
    is_zoned: bool = False
    late: LateRows = NO_LATE_ROWS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        zone, batches = split_zone_column(batches) if self.is_zoned else (None, batches)
        snapshot = self.version_source.open_snapshot(zone)
        attribute_columns, task_counts = self._select_attribute_columns(snapshot), TaskCounts()
        raising = find_raising_attributes(snapshot.space, snapshot.constrained_attributes)
        for batch in rebatch(batches):
            if unreadable := batch.num_rows - batch.column(1).null_count:
                task_counts = task_counts.combine(TaskCounts(dead_letters=unreadable))
                yield self.late.extend_batch(self._build_dead_letters(batch), batch)
            events = to_events(_append_time_column(batch), attribute_columns, snapshot.space)
            for rows, matches in match_bounded(snapshot, events, np.arange(len(events))):
                task_counts = task_counts.combine(
                    TaskCounts(len(matches.event_rows), candidates=matches.candidates)
                )
                matched_events = batch.slice(rows[0], len(rows))
                version = snapshot.manifest.version
                yield from self._build_notifications(
                    matched_events, matches.event_rows, matches.ids, version
                )
                undecided, undecided_ids = matches.undecided, matches.undecided_ids
                parts = self.late.encode_conditions(undecided) if len(undecided_ids) else ()
                for start, stop, conditions in parts:
                    yield from self._build_notifications(
                        matched_events, undecided.query_rows[start:stop],
                        undecided_ids.slice(start, stop - start), version, conditions,
                    )  # fmt: skip
            task_counts = task_counts.combine(self._count_errors(snapshot, batch, events, raising))
        if self.counts is not None:
            self.counts.add(get_task_batch()[1], task_counts)
        freeze_gc()

    def _count_errors(
        self,
        snapshot: Snapshot,
        batch: pa.RecordBatch,
        events: Events,
        raising_expressions: list[Attribute],
    ) -> TaskCounts:
        """Count the undecided pairs of a batch, and list at most 100 ids of their subscriptions."""
        computable = find_computable_rows(batch, self.attribute_columns, raising_expressions)
        counts = TaskCounts()
        for undecided in (
            find_undecided_pairs(snapshot, events, computable) if raising_expressions else ()
        ):
            ids = (
                undecided.subscription_ids.unique()
                .cast(pa.string())
                .slice(0, MAX_NAMED_SUBSCRIPTIONS)
                .to_pylist()
            )
            counts = counts.combine(
                TaskCounts(errors=len(undecided.event_rows), raising_subscriptions=tuple(ids))
            )
        return counts

    def _select_attribute_columns(self, snapshot: Snapshot) -> dict[str, int]:
        """Return the column number of each attribute that a version constrains.

        The append time, which validity intervals contain, is in a further column after all
        attributes.

        Raises:
            StreamError: workers receive no column for an attribute that the version constrains, or
                cannot evaluate its late conditions.
        """
        late_columns = len(self.late.columns) if self.late.templates else 0
        columns = {
            **self.attribute_columns,
            VALIDITY: LEADING_COLUMNS + len(self.attribute_columns) + late_columns,
        }
        for name in snapshot.constrained_attributes:
            if name not in columns:
                raise StreamError(
                    f"version {snapshot.manifest.version} of the store constrains attribute "
                    f"{name}, which the running query does not compute: restart the stream"
                )
        if not self.late.has_templates_of(snapshot):
            raise StreamError(
                f"version {snapshot.manifest.version} of the store has late conditions that the "
                "running query does not evaluate: restart the stream"
            )
        return {name: columns[name] for name in snapshot.constrained_attributes}

    def _build_notifications(
        self,
        events: pa.RecordBatch,
        query_rows: Rows,
        subscription_ids: pa.Array,
        version: int,
        conditions: pa.Array | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield a notification for each match or candidate, in batches of output rows.

        Match i is row `query_rows[i]` of `events` and the subscription `subscription_ids[i]`. If
        they are candidates, `conditions[i]` are its late conditions.
        """
        event_ids, included = _escape_json(events.column(0)), events.column(3)
        before = pc.binary_join_element_wise('{"id":"', event_ids, "/", "")
        between = pc.binary_join_element_wise('","event":"', event_ids, '","subscription":"', "")
        after = f'","version":{version}'
        batch_rows = _compute_batch_rows(event_ids, included, subscription_ids)
        for start in range(0, len(query_rows), batch_rows):
            rows = pa.array(query_rows[start : start + batch_rows])
            ids = subscription_ids.slice(start, len(rows)).cast(pa.string())
            escaped_ids, tail = _escape_json(ids), [after + "}"]
            if included.null_count < len(included):
                tail = [after + ',"event_values":', included.take(rows), "}"]
            values = pc.binary_join_element_wise(
                before.take(rows), escaped_ids, between.take(rows), escaped_ids, *tail, ""
            )
            batch = _build_batch(self.topics.notifications, ids.cast(pa.binary()), values)
            if not self.late.templates:
                yield batch
            elif conditions is None:
                yield self.late.extend_batch(batch, events)
            else:
                chosen = conditions.slice(start, len(rows))
                yield self.late.extend_batch(batch, events, query_rows=rows, conditions=chosen)

    def _build_dead_letters(self, events: pa.RecordBatch) -> pa.RecordBatch:
        """Return the dead letters about events that could not be decoded."""
        letters = events.column(1).drop_null().to_pylist()
        values = [self.dead_letter_formatter.format_letter(letter) for letter in letters]
        return _build_batch(
            self.topics.dead_letters,
            pa.array([letter["key"] for letter in letters], pa.binary()),
            pa.array(values, pa.string()),
        )


def split_zone_column(
    batches: Iterator[pa.RecordBatch],
) -> tuple[int | None, Iterator[pa.RecordBatch]]:
    """Return the zone, which is in the last column of all rows, and batches without this column.

    If the batches have no rows, the zone is None, and no batches are returned.
    """
    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        return None, iter(())
    zone_column = first.num_columns - 1
    zoneless = (batch.remove_column(zone_column) for batch in chain([first], batches))
    return first.column(zone_column)[0].as_py(), zoneless


def _append_time_column(events: pa.RecordBatch) -> pa.RecordBatch:
    """Append a column with the time of each event, for comparison with validity intervals.

    An event that could not be decoded gets a null, so that no validity interval contains it.
    """
    letter, at = events.column(1), events.column(2)
    if letter.null_count < len(letter):
        at = pc.if_else(letter.is_valid(), pa.scalar(None, at.type), at)
    return events.append_column(VALIDITY, at)


def _compute_batch_rows(*texts: pa.Array) -> int:
    """Return a number of notifications that is certain to fit into an output batch.

    Args:
        texts: the strings of which notifications consist; the longest one of each array counts.
    """
    max_length = sum(pc.max(pc.binary_length(array)).as_py() or 0 for array in texts)
    return max(1, min(_MAX_BATCH_ROWS, _MAX_BATCH_BYTES // (2 * max_length + 1)))


def _build_batch(topic: str, keys: pa.Array, values: pa.Array) -> pa.RecordBatch:
    columns = [pa.repeat(topic, len(keys)), keys, values.cast(pa.binary())]
    return pa.RecordBatch.from_arrays(columns, schema=_ARROW_SCHEMA)


def _escape_json(texts: pa.Array) -> pa.Array:
    """Return strings escaped for use between the quotes of a JSON string.

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
