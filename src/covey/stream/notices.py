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
from covey.index import Tally
from covey.space import Attribute, Events
from covey.spark.lifetimes import LIFETIME
from covey.spark.matching import bounded, portions, to_events
from covey.spark.raised import computable_rows, raised_pairs, raising_attributes
from covey.spark.worker import settle
from covey.store import Snapshot
from covey.stream.counts import MOST_NAMED, Counts, Made
from covey.stream.unreadable import Unreadable
from covey.stream.versions import Versions, batch_of_task

__all__ = ["KEPT", "ROWS", "Notices", "Topics"]

Rows = NDArray[np.integer[Any]]

KEPT = 4
"""Columns of events that come first: id, dead letter, time, and what is included."""
ROWS = "topic STRING, key BINARY, value BINARY"

_AT_ONCE, _BYTES = 1 << 16, 1 << 26  # notifications in a batch; Arrow's end at 2 GiB
_ESCAPED = np.zeros(256, np.bool_)  # bytes that JSON has another spelling for
_ESCAPED[[*range(32), ord('"'), ord("\\")]] = True
_SCHEMA = pa.schema([("topic", pa.string()), ("key", pa.binary()), ("value", pa.binary())])


class Topics(NamedTuple):
    """Where rows go."""

    notifications: str
    dead_letters: str


@dataclass(frozen=True, slots=True)
class Notices:
    """The function of the `mapInArrow` of a stream: matches events with the version of their batch.

    Column `attributes[name]` of what comes in is the attribute of that name; if it `is_zoned`, the
    last one is the zone that all events of the task are in. A row for each match, and one for each
    event that could not be read, as they are written: nothing is done to rows after this, of which
    there are many.
    """

    versions: Versions
    attributes: Mapping[str, int]
    unreadable: Unreadable
    topics: Topics
    counts: Counts | None = None
    is_zoned: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        zone, batches = zone_of(batches) if self.is_zoned else (None, batches)
        version = self.versions.of_task(zone)
        attributes, tally, made = self._attributes(version), Tally(), Made()
        raising = raising_attributes(version.space, version.constrained)
        for batch in portions(batches):
            if unreadable := batch.num_rows - batch.column(1).null_count:
                made = made.and_also(Made(dead_letters=unreadable))
                yield self._letters(batch)
            events = to_events(_timed(batch), attributes, version.space)
            for rows, asked, ids in bounded(version, events, np.arange(len(events)), tally):
                made = made.and_also(Made(len(asked)))
                some = batch.slice(rows[0], len(rows))
                yield from self._notices(some, asked, ids, version.version.number)
            made = made.and_also(self._errors(version, batch, events, raising))
        if self.counts is not None:
            self.counts.add(batch_of_task()[1], made.and_also(Made(proposed=tally.proposed)))
        settle()

    def _errors(
        self, version: Snapshot, batch: pa.RecordBatch, events: Events, raising: list[Attribute]
    ) -> Made:
        """Count the pairs of a batch on which Spark raises, and name some of the subscriptions."""
        computable = computable_rows(batch, self.attributes, raising)
        found = Made()
        for raised in raised_pairs(version, events, computable) if raising else ():
            named = raised.ids.unique().cast(pa.string()).slice(0, MOST_NAMED).to_pylist()
            found = found.and_also(Made(errors=len(raised.rows), raising=tuple(named)))
        return found

    def _attributes(self, version: Snapshot) -> dict[str, int]:
        """Where the attributes are that a version looks at; its time comes after all others."""
        places = {**self.attributes, LIFETIME: KEPT + len(self.attributes)}
        for name in version.constrained:
            if name not in places:
                raise StreamError(f"version {version.version.number} looks at {name}")
        return {name: places[name] for name in version.constrained}

    def _notices(
        self, events: pa.RecordBatch, asked: Rows, ids: pa.Array, version: int
    ) -> Iterator[pa.RecordBatch]:
        """The notifications of events, of which row `asked[i]` matches `ids[i]`."""
        event, included = _in_json(events.column(0)), events.column(3)
        before = pc.binary_join_element_wise('{"id":"', event, "/", "")
        between = pc.binary_join_element_wise('","event":"', event, '","subscription":"', "")
        after = f'","version":{version}'
        at_once = _at_once(event, included, ids)
        for start in range(0, len(asked), at_once):
            rows = pa.array(asked[start : start + at_once])
            to = ids.slice(start, len(rows)).cast(pa.string())
            name, tail = _in_json(to), [after + "}"]
            if included.null_count < len(included):
                tail = [after + ',"event_values":', included.take(rows), "}"]
            values = pc.binary_join_element_wise(
                before.take(rows), name, between.take(rows), name, *tail, ""
            )
            yield _rows(self.topics.notifications, to.cast(pa.binary()), values)

    def _letters(self, events: pa.RecordBatch) -> pa.RecordBatch:
        """The dead letters of events that could not be read."""
        letters = events.column(1).drop_null().to_pylist()
        values = [self.unreadable.letter(one) for one in letters]
        return _rows(
            self.topics.dead_letters,
            pa.array([one["key"] for one in letters], pa.binary()),
            pa.array(values, pa.string()),
        )


def zone_of(
    batches: Iterator[pa.RecordBatch],
) -> tuple[int | None, Iterator[pa.RecordBatch]]:
    """The zone that the last column says, None if there is no row; and batches without it."""
    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        return None, iter(())
    last = first.num_columns - 1
    rest = (batch.remove_column(last) for batch in chain([first], batches))
    return first.column(last)[0].as_py(), rest


def _timed(events: pa.RecordBatch) -> pa.RecordBatch:
    """Events with their time as the last column.

    One that could not be read has none, so that nobody's lifetime contains it.
    """
    letter, at = events.column(1), events.column(2)
    if letter.null_count < len(letter):
        at = pc.if_else(letter.is_valid(), pa.scalar(None, at.type), at)
    return events.append_column(LIFETIME, at)


def _at_once(*texts: pa.Array) -> int:
    """How many notifications are made at once, if each has the longest of these."""
    longest = sum(pc.max(pc.binary_length(one)).as_py() or 0 for one in texts)
    return max(1, min(_AT_ONCE, _BYTES // (2 * longest + 1)))


def _rows(topic: str, keys: pa.Array, values: pa.Array) -> pa.RecordBatch:
    columns = [pa.repeat(topic, len(keys)), keys, values.cast(pa.binary())]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _in_json(texts: pa.Array) -> pa.Array:
    """Texts as they stand between quotes in JSON.

    >>> _in_json(pa.array(['a"b', "c"])).to_pylist()
    ['a\\\\"b', 'c']
    """
    _, offsets, data = texts.buffers()
    if data is None:
        return texts
    first, end = np.frombuffer(offsets, np.int32)[[texts.offset, texts.offset + len(texts)]]
    if not _ESCAPED[np.frombuffer(data, np.uint8)[first:end]].any():
        return texts
    return pa.array([json.dumps(text, ensure_ascii=False)[1:-1] for text in texts.to_pylist()])
