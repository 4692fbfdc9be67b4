"""Notifications as they leave: rows of a route, a key and a value, made in Spark's workers.

The value is JSON with the id of the event, that of the subscription, and the version that decided
it. Its own id is a function of the first two, so that a repeat is recognised; nothing in it depends
on when or how often it was made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from covey.index import Tally
from covey.spark.matching import bounded, portions, to_events
from covey.spark.worker import snapshot

__all__ = ["KEPT", "ROWS", "TALLY", "TO_DEAD_LETTERS", "TO_SUBSCRIBERS", "Notices"]

Rows = NDArray[np.integer[Any]]

KEPT = 4
"""Columns of events that come first: id, dead letter, key, and what is included."""
ROWS = "route TINYINT, key BINARY, value STRING, proposed BIGINT"
TO_SUBSCRIBERS, TO_DEAD_LETTERS = 0, 1
TALLY = -1
"""The route of rows that go nowhere, and only say how many pairs were proposed."""

_AT_ONCE, _BYTES = 1 << 16, 1 << 26  # notifications in a batch; Arrow's end at 2 GiB
_ESCAPED = r'["\\\x00-\x1f]'
_SCHEMA = pa.schema(
    [("route", pa.int8()), ("key", pa.binary()), ("value", pa.string()), ("proposed", pa.int64())]
)


@dataclass(frozen=True, slots=True)
class Notices:
    """The function of the `mapInArrow` of a batch: matches its events with one version.

    A row for each match, one for each event that could not be read, and tallies.
    """

    place: str
    version: int
    label: str | None
    attributes: Mapping[str, int]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        version = snapshot(self.place, self.version, self.label)
        tally = Tally()
        for batch in portions(batches):
            yield from _letters(batch)
            events = to_events(batch, self.attributes, version.space)
            for rows, asked, ids in bounded(version, events, np.arange(len(events)), tally):
                yield from self._notices(batch.slice(rows[0], len(rows)), asked, ids)
        yield pa.RecordBatch.from_pylist(
            [{"route": TALLY, "proposed": tally.proposed}], schema=_SCHEMA
        )

    def _notices(
        self, events: pa.RecordBatch, asked: Rows, ids: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        """The notifications of events, of which row `asked[i]` matches `ids[i]`."""
        event, included = _in_json(events.column(0)), events.column(3)
        before = pc.binary_join_element_wise('{"id":"', event, "/", "")
        between = pc.binary_join_element_wise('","event":"', event, '","subscription":"', "")
        after = f'","version":{self.version}'
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
            yield _rows(TO_SUBSCRIBERS, to.cast(pa.binary()), values)


def _at_once(*texts: pa.Array) -> int:
    """How many notifications are made at once, if each has the longest of these."""
    longest = sum(pc.max(pc.binary_length(one)).as_py() or 0 for one in texts)
    return max(1, min(_AT_ONCE, _BYTES // (2 * longest + 1)))


def _letters(events: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The dead letters of events that could not be read."""
    letter = events.column(1)
    if letter.null_count < len(letter):
        dead = letter.is_valid()
        yield _rows(TO_DEAD_LETTERS, events.column(2).filter(dead), letter.filter(dead))


def _rows(route: int, keys: pa.Array, values: pa.Array) -> pa.RecordBatch:
    routes = pa.array(np.full(len(keys), route, np.int8))
    nothing = pa.nulls(len(keys), pa.int64())
    return pa.RecordBatch.from_arrays([routes, keys, values, nothing], schema=_SCHEMA)


def _in_json(texts: pa.Array) -> pa.Array:
    """Texts as they stand between quotes in JSON.

    >>> _in_json(pa.array(['a"b', "c"])).to_pylist()
    ['a\\\\"b', 'c']
    """
    if not pc.any(pc.match_substring_regex(texts, _ESCAPED)).as_py():
        return texts
    return pa.array([json.dumps(text, ensure_ascii=False)[1:-1] for text in texts.to_pylist()])
