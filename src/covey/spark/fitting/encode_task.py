"""Tasks that encode subscriptions: parse predicates or read ranges, index, stage a segment.

Each task stages a segment of the accepted subscriptions of its partition, and one of the ids to
remove if there are any. It returns the rejected subscriptions with the reasons, and those that wait
for types of expressions. Rows are partitioned by id, so that a task gets all rows of an id.
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
from covey.spark.workers import open_shared_store
from covey.store import Changes

__all__ = ["EncodeTask", "ReencodeTask"]

_NO_TYPES = KnownTypes({})
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_PORTION_ROWS = 100_000  # predicates that are parsed together, so that they share templates
_NULL = "null; an empty value in CSV is null"
_INVALID_UTF8 = "is not valid UTF-8"
_TOO_MANY_EXPRESSIONS = (
    "subscriptions compare too many different expressions for Spark to analyse each of them; use "
    "fewer different expressions in predicates"
)


@dataclass(frozen=True, slots=True)
class EncodeTask:
    """Function of a `mapInArrow` that encodes subscriptions as a staged segment.

    Input columns: `id`; `removed`, whether the subscription is removed; `refused`, the reason why
    the row is rejected, or null; `predicate` if `has_predicates`; and the columns that
    `range_columns` name. Output columns: those of `task_result_schema`.

    Args:
        location: location of the store.
        base_version: version to which the subscriptions are added.
        space: space of the subscriptions.
        id_type: conversion of ids.
        range_columns: attributes with range columns.
        has_predicates: whether the input has a column `predicate`.
        expression_types: types of the expressions that Spark has analysed so far.
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
        """Return a copy of the task that knows these types of expressions.

        In the last round, a subscription with an expression of unknown type is rejected. In other
        rounds it waits until Spark has analysed the expression.
        """
        otherwise = Refusal(_TOO_MANY_EXPRESSIONS) if is_last_round else None
        return replace(self, expression_types=KnownTypes(dict(types.facts), otherwise))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        results = TaskResults(self.id_type.arrow_type)
        parser = Parser(without_validity(self.space), types=self.expression_types)
        portions = []
        for table in _group_batches(batches):
            started = time.perf_counter()
            portions.append(self._parse_portion(table, parser, results))
            results.add_seconds("parse", time.perf_counter() - started)
            yield from results.drain_rejections()
        if portions:
            started = time.perf_counter()
            self._stage_segments(portions, results)
            results.add_seconds("index", time.perf_counter() - started)
        yield from results.drain_rejections()
        yield from results.waiting_batches()
        yield from results.segment_batches()
        freeze_gc()

    def _parse_portion(
        self, subscriptions: pa.Table, parser: Parser, results: TaskResults
    ) -> _ParsedPortion:
        """Parse a portion of subscriptions, and add the rejected ones to the results."""
        ids, is_garbled_id = _replace_invalid_utf8(subscriptions.column("id"))
        has_id = np.asarray(ids.is_valid())
        refusals = subscriptions.column("refused").combine_chunks()
        is_refused = has_id & np.asarray(refusals.is_valid())
        is_removed = np.asarray(subscriptions.column("removed").combine_chunks())
        is_removed = has_id & ~is_refused & is_removed
        is_accepted = has_id & ~is_refused & ~is_removed
        texts, is_waiting = pa.nulls(len(ids), pa.string()), np.zeros(len(ids), np.bool_)
        regions, subscription_rows = Regions(self.space, len(ids), {}), np.arange(len(ids))
        if self.has_predicates:
            texts, is_garbled = _replace_invalid_utf8(subscriptions.column("predicate"))
            reason = f"the predicate {_INVALID_UTF8}"
            _reject_rows(results, ids, texts, is_garbled & is_accepted, reason)
            is_missing = ~np.asarray(texts.is_valid())
            is_null = is_missing & is_accepted & ~is_garbled
            _reject_rows(results, ids, texts, is_null, f"the predicate is {_NULL}")
            is_accepted &= ~is_missing
            parsed = parser.parse(texts.fill_null("false").to_pylist())
            for row, error in parsed.rejected.items():
                if is_accepted[row]:
                    results.add_rejection(ids[row].as_py(), texts[row].as_py(), error)
                    is_accepted[row] = False
            is_waiting[list(parsed.missing_types)] = True
            is_waiting &= is_accepted
            results.add_expressions(
                parsed.missing_types[row] for row in np.flatnonzero(is_waiting).tolist()
            )
            is_accepted &= ~is_waiting
            space = replace(self.space, derived=parsed.space.derived)
            regions, subscription_rows = replace(parsed.regions, space=space), parsed.predicate_rows
        _reject_rows(results, ids, texts, ~has_id & ~is_garbled_id, f"the id is {_NULL}")
        _reject_rows(results, ids, texts, is_garbled_id, f"the id {_INVALID_UTF8}")
        for row in np.flatnonzero(is_refused).tolist():
            results.add_rejection(ids[row].as_py(), texts[row].as_py(), refusals[row].as_py())
        for ranges in self.range_columns:
            for name in (ranges.lower_col, ranges.upper_col):
                ends, is_garbled = _replace_invalid_utf8(subscriptions.column(name))
                reason = f"an end of {ranges.attribute} {_INVALID_UTF8}"
                _reject_rows(results, ids, texts, is_garbled & is_accepted, reason)
                is_accepted &= ~is_garbled
                subscriptions = subscriptions.set_column(
                    subscriptions.schema.get_field_index(name), name, ends
                )
        regions, subscription_rows = intersect_ranges(
            regions, subscription_rows, subscriptions, self.range_columns
        )
        return _ParsedPortion(
            ids,
            texts,
            is_accepted,
            is_removed,
            is_waiting,
            regions,
            subscription_rows,
            subscriptions.filter(pa.array(is_waiting)),
        )

    def _stage_segments(self, portions: Sequence[_ParsedPortion], results: TaskResults) -> None:
        """Stage a segment of all accepted subscriptions, and one of the ids to remove.

        Subscriptions whose id occurs more than once are rejected. Waiting subscriptions are added
        to the results.
        """
        ids = pa.concat_arrays([portion.ids for portion in portions])
        is_accepted = np.concatenate([portion.is_accepted for portion in portions])
        is_removed = np.concatenate([portion.is_removed for portion in portions])
        is_waiting = np.concatenate([portion.is_waiting for portion in portions])
        is_repeated = self.id_type.find_duplicates(ids)
        is_rejected = is_repeated & (is_accepted | is_removed | is_waiting)
        if is_rejected.any():
            texts = pa.concat_arrays([portion.texts for portion in portions])
            reason = "the id occurs more than once: give each subscription one row and one id"
            _reject_rows(results, ids, texts, is_rejected, reason)
            is_accepted, is_removed = is_accepted & ~is_repeated, is_removed & ~is_repeated
        starts = np.cumsum([0, *(len(portion.ids) for portion in portions)])
        for portion, start in zip(portions, starts, strict=False):
            is_unique = ~is_repeated[start : start + len(portion.ids)]
            waiting_rows = portion.waiting_rows.filter(pa.array(is_unique[portion.is_waiting]))
            results.add_waiting(waiting_rows)
        rows = np.concatenate(
            [
                portion.subscription_rows + start
                for portion, start in zip(portions, starts, strict=False)
            ]
        )
        regions = Regions.concat([portion.regions for portion in portions])
        accepted_regions = np.flatnonzero(is_accepted[rows])
        if len(accepted_regions) < len(rows):
            regions, rows = regions.take(accepted_regions), rows[accepted_regions]
        upsert_ids = self.id_type.to_store(ids.filter(pa.array(is_accepted)))
        removed_ids = self.id_type.to_store(ids.filter(pa.array(is_removed)))
        upsert_rows = (np.cumsum(is_accepted) - 1)[rows]
        upserts = Changes(upsert_ids, regions, upsert_rows)
        removals = Changes(removed_ids, None, rows[:0])
        store = open_shared_store(self.location)
        results.add_segment(UPSERT_KIND, store.stage(upserts, self.base_version))
        results.add_segment(REMOVAL_KIND, store.stage(removals, self.base_version))


@dataclass(frozen=True, slots=True)
class ReencodeTask:
    """Function of a `mapInArrow` that encodes subscriptions again after Spark's analysis.

    The only input column contains Arrow IPC streams. A stream has the input rows of `encode_task`
    for the subscriptions that waited for types of expressions.
    """

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
    """Portion of the subscriptions of a task, after parsing.

    `ids`, `texts` (the predicates) and the Boolean arrays have a value for each input row.
    `regions` are the regions of all valid predicates, intersected with the ranges of their rows.
    `subscription_rows` contains the input row of each region.
    """

    ids: pa.Array
    texts: pa.Array
    is_accepted: Bools
    is_removed: Bools
    is_waiting: Bools
    regions: Regions
    subscription_rows: Ints
    waiting_rows: pa.Table
    """Input rows of the subscriptions that wait for types of their expressions."""


def _group_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Join batches into tables of at least `_PORTION_ROWS` rows, and yield the tables.

    The last table may be smaller; no table is empty.
    """
    pending: list[pa.RecordBatch] = []
    for batch in batches:
        pending.append(batch)
        if sum(each.num_rows for each in pending) >= _PORTION_ROWS:
            yield pa.Table.from_batches(pending)
            pending = []
    if sum(each.num_rows for each in pending):
        yield pa.Table.from_batches(pending)


def _replace_invalid_utf8(column: pa.ChunkedArray) -> tuple[pa.Array, Bools]:
    """Replace texts that are not valid UTF-8 by null; also return which rows were replaced.

    A column of another type is returned unchanged.
    """
    values = column.combine_chunks()
    is_garbled = np.zeros(len(values), np.bool_)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        try:
            values.validate(full=True)
        except pa.ArrowInvalid:
            contents = values.cast(pa.binary()).to_pylist()
            is_garbled[:] = [content is not None and not _is_utf8(content) for content in contents]
            values = pc.if_else(pa.array(is_garbled), pa.scalar(None, values.type), values)
    return values, is_garbled


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
