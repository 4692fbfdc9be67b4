"""Subscriptions to segments, in Spark's workers: parse or take ranges, index, write.

Each task turns its partition into one segment that no version names yet; what it cannot read it
hands back with the reason. Rows are partitioned by id, so that a task sees all rows of an id.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.language import Parser
from covey.language.analysis import KnownTypes, Refusal
from covey.space import Space
from covey.spark.analysis import SparkTypes
from covey.spark.ids import IdType
from covey.spark.lifetimes import without_lifetime
from covey.spark.outcomes import PUT, REMOVED, Outcomes
from covey.spark.ranges import Range, within
from covey.spark.worker import settle
from covey.store import Changes, Store

__all__ = ["Encoding", "EncodingAgain"]

_NOTHING = KnownTypes({})
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_AT_ONCE = 100_000  # predicates, which share templates
_GARBLED = "is no valid UTF-8"
_TOO_MANY = "subscriptions compare too many different expressions to ask Spark about each"


@dataclass(frozen=True, slots=True)
class Encoding:
    """The function of a `mapInArrow` over subscriptions.

    The columns: `id`, whether it is `removed`, why it is `refused` if it is, then `predicate` if
    `has_predicates`, then the ends of `ranges`.
    """

    place: str
    base: int
    space: Space
    ids: IdType
    ranges: tuple[Range, ...]
    has_predicates: bool
    types: KnownTypes = _NOTHING

    def with_types(self, types: SparkTypes, is_last: bool = False) -> Encoding:
        """Return the same with what Spark has said; if it is the last time, nothing waits."""
        otherwise = Refusal(_TOO_MANY) if is_last else None
        return replace(self, types=KnownTypes(dict(types.known), otherwise))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        outcomes = Outcomes(self.ids.arrow)
        parser = Parser(without_lifetime(self.space), types=self.types)
        read = []
        for table in _portions(batches):
            started = time.perf_counter()
            read.append(self._read(table, parser, outcomes))
            outcomes.spent("parse", time.perf_counter() - started)
            yield from outcomes.rejections()
        if read:
            started = time.perf_counter()
            self._write(read, outcomes)
            outcomes.spent("index", time.perf_counter() - started)
        yield from outcomes.rejections()
        yield from outcomes.questions()
        yield from outcomes.segments()
        settle()

    def _read(self, table: pa.Table, parser: Parser, outcomes: Outcomes) -> _Read:
        """The regions of some subscriptions; says which are wrong."""
        ids, is_garbled = _readable(table.column("id"))
        named = np.asarray(ids.is_valid())
        refusals = table.column("refused").combine_chunks()
        refused = named & np.asarray(refusals.is_valid())
        removed = named & ~refused & np.asarray(table.column("removed").combine_chunks())
        taken = named & ~refused & ~removed
        texts, waiting = pa.nulls(len(ids), pa.string()), np.zeros(len(ids), np.bool_)
        regions, of = Regions(self.space, len(ids), {}), np.arange(len(ids))
        if self.has_predicates:
            texts, garbled = _readable(table.column("predicate"))
            _reject(outcomes, ids, texts, garbled & taken, f"the predicate {_GARBLED}")
            missing = ~np.asarray(texts.is_valid())
            _reject(outcomes, ids, texts, missing & taken & ~garbled, "the predicate is null")
            taken &= ~missing
            parsed = parser.parse(texts.fill_null("false").to_pylist())
            for row, error in parsed.rejected.items():
                if taken[row]:
                    outcomes.reject(ids[row].as_py(), texts[row].as_py(), error)
                    taken[row] = False
            waiting[list(parsed.unanalysed)] = True
            waiting &= taken
            outcomes.ask(parsed.unanalysed[row] for row in np.flatnonzero(waiting).tolist())
            taken &= ~waiting
            space = replace(self.space, derived=parsed.space.derived)
            regions, of = replace(parsed.regions, space=space), parsed.of
        _reject(outcomes, ids, texts, ~named & ~is_garbled, "the id is null")
        _reject(outcomes, ids, texts, is_garbled, f"the id {_GARBLED}")
        for row in np.flatnonzero(refused).tolist():
            outcomes.reject(ids[row].as_py(), texts[row].as_py(), refusals[row].as_py())
        for one in self.ranges:
            for name in (one.lower, one.upper):
                ends, garbled = _readable(table.column(name))
                why = f"an end of {one.attribute} {_GARBLED}"
                _reject(outcomes, ids, texts, garbled & taken, why)
                taken &= ~garbled
                table = table.set_column(table.schema.get_field_index(name), name, ends)
        regions, of = within(regions, of, table, self.ranges)
        rows = table.filter(pa.array(waiting))
        return _Read(ids, texts, taken, removed, waiting, regions, of, rows)

    def _write(self, read: Sequence[_Read], outcomes: Outcomes) -> None:
        """One segment of all that was read, and one of the ids that are to be removed."""
        ids = pa.concat_arrays([part.ids for part in read])
        taken = np.concatenate([part.taken for part in read])
        removed = np.concatenate([part.removed for part in read])
        repeated = self.ids.repeated(ids)
        wanted = taken | removed | np.concatenate([part.waiting for part in read])
        if (repeated & wanted).any():
            texts = pa.concat_arrays([part.texts for part in read])
            why = "the id is there more than once: give each subscription one row and one id"
            _reject(outcomes, ids, texts, repeated & wanted, why)
            taken, removed = taken & ~repeated, removed & ~repeated
        starts = np.cumsum([0, *(len(part.ids) for part in read)])
        for part, start in zip(read, starts, strict=False):
            once = ~repeated[start : start + len(part.ids)]
            outcomes.put_off(part.rows.filter(pa.array(once[part.waiting])))
        of = np.concatenate([part.of + start for part, start in zip(read, starts, strict=False)])
        regions = Regions.concat([part.regions for part in read])
        kept = np.flatnonzero(taken[of])
        if len(kept) < len(of):
            regions, of = regions.take(kept), of[kept]
        number = np.cumsum(taken) - 1
        put = Changes(self.ids.to_store(ids.filter(pa.array(taken))), regions, number[of])
        gone = Changes(self.ids.to_store(ids.filter(pa.array(removed))), None, of[:0])
        store = Store.open(self.place)
        outcomes.written(PUT, store.prepare(put, self.base))
        outcomes.written(REMOVED, store.prepare(gone, self.base))


@dataclass(frozen=True, slots=True)
class EncodingAgain:
    """The function of a `mapInArrow` over subscriptions that have waited."""

    encoding: Encoding

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.encoding(
            rows
            for batch in batches
            for content in batch.column(0).to_pylist()
            for rows in pa.ipc.open_stream(content)
        )


@dataclass(frozen=True, slots=True)
class _Read:
    """Some subscriptions: which are taken, which remove their id, and whose each region is."""

    ids: pa.Array
    texts: pa.Array
    taken: Bools
    removed: Bools
    waiting: Bools
    regions: Regions
    of: Ints
    rows: pa.Table
    """Those that wait for what Spark says of their expressions, as they came."""


def _portions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows of batches, many at a time."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= _AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if sum(one.num_rows for one in waiting):
        yield pa.Table.from_batches(waiting)


def _readable(column: pa.ChunkedArray) -> tuple[pa.Array, Bools]:
    """Return a column with nulls in place of texts that are no UTF-8, and where these are."""
    whole = column.combine_chunks()
    garbled = np.zeros(len(whole), np.bool_)
    if pa.types.is_string(whole.type) or pa.types.is_large_string(whole.type):
        try:
            whole.validate(full=True)
        except pa.ArrowInvalid:
            content = whole.cast(pa.binary()).to_pylist()
            garbled[:] = [one is not None and not _is_utf8(one) for one in content]
            whole = pc.if_else(pa.array(garbled), pa.scalar(None, whole.type), whole)
    return whole, garbled


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _reject(outcomes: Outcomes, ids: pa.Array, texts: pa.Array, which: Bools, why: str) -> None:
    for row in np.flatnonzero(which).tolist():
        outcomes.reject(ids[row].as_py(), texts[row].as_py(), why)
