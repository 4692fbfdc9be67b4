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
from covey.language.semantics import KnownTypes, Refusal
from covey.space import Space
from covey.spark.fitting.expression_analysis import SparkExpressionTypes
from covey.spark.fitting.range_columns import RangeColumns, intersect_ranges
from covey.spark.fitting.task_results import REMOVAL_KIND, UPSERT_KIND, TaskResults
from covey.spark.id_types import IdType
from covey.spark.matching.worker_cache import freeze_gc
from covey.spark.validity import without_validity
from covey.store import Changes, Store

__all__ = ["EncodeTask", "ReencodeTask"]

_NO_TYPES = KnownTypes({})
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_PORTION_ROWS = 100_000  # predicates, which share templates
_INVALID_UTF8 = "is no valid UTF-8"
_TOO_MANY_EXPRESSIONS = (
    "subscriptions compare too many different expressions to ask Spark about each"
)


@dataclass(frozen=True, slots=True)
class EncodeTask:
    """The function of a `mapInArrow` over subscriptions.

    The columns: `id`, whether it is `removed`, why it is `refused` if it is, then `predicate` if
    `has_predicates`, then the ends of `ranges`.
    """

    location: str
    base_version: int
    space: Space
    id_type: IdType
    range_columns: tuple[RangeColumns, ...]
    has_predicates: bool
    expression_types: KnownTypes = _NO_TYPES

    def with_expression_types(
        self, types: SparkExpressionTypes, *, is_last_round: bool = False
    ) -> EncodeTask:
        """Return the same with what Spark has said; if it is the last time, nothing waits."""
        otherwise = Refusal(_TOO_MANY_EXPRESSIONS) if is_last_round else None
        return replace(self, expression_types=KnownTypes(dict(types.known_types), otherwise))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        outcomes = TaskResults(self.id_type.arrow_type)
        parser = Parser(without_validity(self.space), types=self.expression_types)
        read = []
        for table in _group_batches(batches):
            started = time.perf_counter()
            read.append(self._parse_portion(table, parser, outcomes))
            outcomes.add_seconds("parse", time.perf_counter() - started)
            yield from outcomes.drain_rejections()
        if read:
            started = time.perf_counter()
            self._stage_segments(read, outcomes)
            outcomes.add_seconds("index", time.perf_counter() - started)
        yield from outcomes.drain_rejections()
        yield from outcomes.waiting_batches()
        yield from outcomes.segment_batches()
        freeze_gc()

    def _parse_portion(
        self, subscriptions: pa.Table, parser: Parser, results: TaskResults
    ) -> _ParsedPortion:
        """The regions of some subscriptions; says which are wrong."""
        ids, is_garbled = _replace_invalid_utf8(subscriptions.column("id"))
        named = np.asarray(ids.is_valid())
        refusals = subscriptions.column("refused").combine_chunks()
        refused = named & np.asarray(refusals.is_valid())
        removed = named & ~refused & np.asarray(subscriptions.column("removed").combine_chunks())
        taken = named & ~refused & ~removed
        texts, waiting = pa.nulls(len(ids), pa.string()), np.zeros(len(ids), np.bool_)
        regions, of = Regions(self.space, len(ids), {}), np.arange(len(ids))
        if self.has_predicates:
            texts, garbled = _replace_invalid_utf8(subscriptions.column("predicate"))
            _reject_rows(results, ids, texts, garbled & taken, f"the predicate {_INVALID_UTF8}")
            missing = ~np.asarray(texts.is_valid())
            _reject_rows(results, ids, texts, missing & taken & ~garbled, "the predicate is null")
            taken &= ~missing
            parsed = parser.parse(texts.fill_null("false").to_pylist())
            for row, error in parsed.rejected.items():
                if taken[row]:
                    results.add_rejection(ids[row].as_py(), texts[row].as_py(), error)
                    taken[row] = False
            waiting[list(parsed.missing_types)] = True
            waiting &= taken
            results.add_expressions(
                parsed.missing_types[row] for row in np.flatnonzero(waiting).tolist()
            )
            taken &= ~waiting
            space = replace(self.space, derived=parsed.space.derived)
            regions, of = replace(parsed.regions, space=space), parsed.predicate_rows
        _reject_rows(results, ids, texts, ~named & ~is_garbled, "the id is null")
        _reject_rows(results, ids, texts, is_garbled, f"the id {_INVALID_UTF8}")
        for row in np.flatnonzero(refused).tolist():
            results.add_rejection(ids[row].as_py(), texts[row].as_py(), refusals[row].as_py())
        for one in self.range_columns:
            for name in (one.lower_col, one.upper_col):
                ends, garbled = _replace_invalid_utf8(subscriptions.column(name))
                why = f"an end of {one.attribute} {_INVALID_UTF8}"
                _reject_rows(results, ids, texts, garbled & taken, why)
                taken &= ~garbled
                subscriptions = subscriptions.set_column(
                    subscriptions.schema.get_field_index(name), name, ends
                )
        regions, of = intersect_ranges(regions, of, subscriptions, self.range_columns)
        rows = subscriptions.filter(pa.array(waiting))
        return _ParsedPortion(ids, texts, taken, removed, waiting, regions, of, rows)

    def _stage_segments(self, portions: Sequence[_ParsedPortion], results: TaskResults) -> None:
        """One segment of all that was read, and one of the ids that are to be removed."""
        ids = pa.concat_arrays([part.ids for part in portions])
        taken = np.concatenate([part.is_accepted for part in portions])
        removed = np.concatenate([part.is_removed for part in portions])
        repeated = self.id_type.find_duplicates(ids)
        wanted = taken | removed | np.concatenate([part.is_waiting for part in portions])
        if (repeated & wanted).any():
            texts = pa.concat_arrays([part.texts for part in portions])
            why = "the id is there more than once: give each subscription one row and one id"
            _reject_rows(results, ids, texts, repeated & wanted, why)
            taken, removed = taken & ~repeated, removed & ~repeated
        starts = np.cumsum([0, *(len(part.ids) for part in portions)])
        for part, start in zip(portions, starts, strict=False):
            once = ~repeated[start : start + len(part.ids)]
            results.add_waiting(part.waiting_rows.filter(pa.array(once[part.is_waiting])))
        of = np.concatenate(
            [part.subscription_rows + start for part, start in zip(portions, starts, strict=False)]
        )
        regions = Regions.concat([part.regions for part in portions])
        kept = np.flatnonzero(taken[of])
        if len(kept) < len(of):
            regions, of = regions.take(kept), of[kept]
        number = np.cumsum(taken) - 1
        put = Changes(self.id_type.to_store(ids.filter(pa.array(taken))), regions, number[of])
        gone = Changes(self.id_type.to_store(ids.filter(pa.array(removed))), None, of[:0])
        store = Store.open(self.location)
        results.add_segment(UPSERT_KIND, store.stage(put, self.base_version))
        results.add_segment(REMOVAL_KIND, store.stage(gone, self.base_version))


@dataclass(frozen=True, slots=True)
class ReencodeTask:
    """The function of a `mapInArrow` over subscriptions that have waited."""

    encode_task: EncodeTask

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.encode_task(
            rows
            for batch in batches
            for content in batch.column(0).to_pylist()
            for rows in pa.ipc.open_stream(content)
        )


@dataclass(frozen=True, slots=True)
class _ParsedPortion:
    """Some subscriptions: which are taken, which remove their id, and whose each region is."""

    ids: pa.Array
    texts: pa.Array
    is_accepted: Bools
    is_removed: Bools
    is_waiting: Bools
    regions: Regions
    subscription_rows: Ints
    waiting_rows: pa.Table
    """Those that wait for what Spark says of their expressions, as they came."""


def _group_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows of batches, many at a time."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= _PORTION_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if sum(one.num_rows for one in waiting):
        yield pa.Table.from_batches(waiting)


def _replace_invalid_utf8(column: pa.ChunkedArray) -> tuple[pa.Array, Bools]:
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


def _reject_rows(
    results: TaskResults, ids: pa.Array, texts: pa.Array, is_rejected: Bools, reason: str
) -> None:
    for row in np.flatnonzero(is_rejected).tolist():
        results.add_rejection(ids[row].as_py(), texts[row].as_py(), reason)
