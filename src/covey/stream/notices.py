"""Notifications as they leave: rows of a route, a key and a value.

The value is JSON with the id of the event, that of the subscription, and the version that decided
it. Its own id is a function of the first two, so that a repeat is recognised; nothing in it depends
on when or how often it was made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql.types import DataType, StructType

__all__ = ["KEPT", "ROWS", "TO_DEAD_LETTERS", "TO_SUBSCRIBERS", "Notices"]

Rows = NDArray[np.integer[Any]]

KEPT = 4
"""Columns of the events that are needed: id, dead letter, key, and what is included."""
ROWS = "route TINYINT, key BINARY, value STRING"
TO_SUBSCRIBERS, TO_DEAD_LETTERS = 0, 1

_AT_ONCE = 1 << 16
_ESCAPED = r'["\\\x00-\x1f]'
_SCHEMA = pa.schema([("route", pa.int8()), ("key", pa.binary()), ("value", pa.string())])


@dataclass(frozen=True, slots=True)
class Notices:
    """A `Shape` of one row for each match, and one for each event that could not be read."""

    version: int

    def schema(self, events: StructType, id_type: DataType) -> StructType:
        return StructType().add("route", "byte").add("key", "binary").add("value", "string")

    def batches(
        self, events: pa.RecordBatch, asked: Rows, ids: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        event, letter, key, included = (events.column(i) for i in range(KEPT))
        if letter.null_count < len(letter):
            dead = letter.is_valid()
            yield _batch(TO_DEAD_LETTERS, key.filter(dead), letter.filter(dead))
        event = _in_json(event)
        before = pc.binary_join_element_wise('{"id":"', event, "/", "")
        between = pc.binary_join_element_wise('","event":"', event, '","subscription":"', "")
        after = f'","version":{self.version}'
        for start in range(0, len(asked), _AT_ONCE):
            rows = pa.array(asked[start : start + _AT_ONCE])
            to = ids.slice(start, len(rows)).cast(pa.string())
            name = _in_json(to)
            tail = [after + "}"]
            if included.null_count < len(included):
                tail = [after + ',"event_values":', included.take(rows), "}"]
            values = pc.binary_join_element_wise(
                before.take(rows), name, between.take(rows), name, *tail, ""
            )
            yield _batch(TO_SUBSCRIBERS, to.cast(pa.binary()), values)


def _batch(route: int, keys: pa.Array, values: pa.Array) -> pa.RecordBatch:
    routes = pa.array(np.full(len(keys), route, np.int8))
    return pa.RecordBatch.from_arrays([routes, keys, values], schema=_SCHEMA)


def _in_json(texts: pa.Array) -> pa.Array:
    """Texts as they stand between quotes in JSON.

    >>> _in_json(pa.array(['a"b', "c"])).to_pylist()
    ['a\\\\"b', 'c']
    """
    if not pc.any(pc.match_substring_regex(texts, _ESCAPED)).as_py():
        return texts
    import json

    return pa.array([json.dumps(text, ensure_ascii=False)[1:-1] for text in texts.to_pylist()])
