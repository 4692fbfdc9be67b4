"""Events to matches, in Spark's workers: the function of the one `mapInArrow` of a `transform`.

Batches are brought together until matching them pays, and apart again where an answer would be too
large: memory is bounded by what one event matches, not by a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.errors import TooManyPairs
from covey.index import Pairs, Tally
from covey.space import Events, Space
from covey.spark.shapes import Shape
from covey.spark.worker import of_zone, settle, snapshot
from covey.store import Snapshot

__all__ = ["Matching", "bounded", "portions", "to_events"]

Rows = NDArray[np.integer[Any]]

_EVENTS, _BYTES = 1 << 15, 32 << 20  # at once
_PAIRS = 1 << 22  # at once, unless one event alone has more


@dataclass(frozen=True, slots=True)
class Matching:
    """Matches batches of events against one version of a store.

    Column `attributes[name]` of a batch is the attribute of that name; `shape` says what is made of
    the matches. Names of columns do not count: an attribute may be any expression. All events of a
    task are in the zone that column `zone` says, if there is one.
    """

    place: str
    version: int
    label: str | None
    attributes: Mapping[str, int]
    shape: Shape
    zone: int | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in portions(batches):
            version = self._opened(batch)
            events = to_events(batch, self.attributes, version.space)
            for rows, asked, ids in bounded(version, events, np.arange(len(events))):
                some = batch.slice(rows[0], len(rows))
                yield from self.shape.batches(some, asked, ids)
        settle()

    def _opened(self, batch: pa.RecordBatch) -> Snapshot:
        if self.zone is None:
            return snapshot(self.place, self.version, self.label)
        return of_zone(self.place, self.version, self.label, batch.column(self.zone)[0].as_py())


def to_events(batch: pa.RecordBatch, attributes: Mapping[str, int], space: Space) -> Events:
    """The events of a batch, of which column `attributes[name]` is the attribute of that name."""
    columns = [batch.column(position) for position in attributes.values()]
    given = pa.RecordBatch.from_arrays(columns, list(attributes))
    return replace(Events.from_arrow(given, space), count=batch.num_rows)


def portions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of about `_EVENTS`, or fewer if they are large; none is empty."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        for part in _cut(batch):
            if waiting and _exceeds([*waiting, part]):
                yield _joined(waiting)
                waiting = []
            waiting.append(part)
    if waiting:
        yield _joined(waiting)


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in equal parts that are not too large, as far as rows are alike."""
    parts = max(-(-batch.num_rows // _EVENTS), -(-batch.nbytes // _BYTES))
    parts = min(parts, batch.num_rows)
    for part in range(parts):
        start, stop = (batch.num_rows * n // parts for n in (part, part + 1))
        yield batch.slice(start, stop - start)


def _exceeds(batches: list[pa.RecordBatch]) -> bool:
    rows = sum(batch.num_rows for batch in batches)
    return rows > _EVENTS or sum(int(batch.nbytes) for batch in batches) > _BYTES


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def bounded(
    version: Snapshot,
    events: Events,
    rows: NDArray[np.int64],
    tally: Tally | None = None,
    sent: list[Pairs] | None = None,
) -> Iterator[tuple[NDArray[np.int64], Rows, pa.Array]]:
    """Consecutive events with whom they notify, in portions whose answers are not too large.

    To `sent` is added which events go on to which zones, as `Snapshot.matching` says.
    """
    proposed, onwards = Tally(), None if sent is None else list[Pairs]()
    try:
        asked = events if len(rows) == len(events) else events.take(rows)
        found = version.notifications(asked, _PAIRS, proposed, onwards)
    except TooManyPairs:
        half = len(rows) // 2
        yield from bounded(version, events, rows[:half], tally, sent)
        yield from bounded(version, events, rows[half:], tally, sent)
    else:
        if tally is not None:
            tally.proposed += proposed.proposed
        if sent is not None:
            sent += [Pairs(rows[some.asked], some.stored) for some in onwards or ()]
        yield rows, *found
