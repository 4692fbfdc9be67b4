"""Undecided pairs: an event and a subscription for which an expression raises an error.

An expression that would raise an error on an event is null there (`covey.space.guard`), and so the
event does not match. Spark's `where` would end the job instead. This module finds the pairs for
which the missing value would have decided whether they match, so that the user can be informed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.index import Pairs
from covey.space import Attribute, Events, Space
from covey.spark.id_types import IdType
from covey.spark.matching.match_task import rebatch, to_events
from covey.spark.matching.worker_cache import freeze_gc, open_snapshot
from covey.store import Snapshot

__all__ = [
    "FindUndecidedTask",
    "RaisingPairs",
    "find_computable_rows",
    "find_raising_attributes",
    "find_undecided_pairs",
]

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]

_MAX_QUERY_EVENTS = 1 << 10  # events of one index query


def find_raising_attributes(space: Space, constrained_attributes: Sequence[str]) -> list[Attribute]:
    """Return the derived attributes that can raise an error and that subscriptions constrain."""
    names = set(constrained_attributes)
    return [
        attribute
        for attribute in space.derived
        if attribute.can_raise and {attribute.name, attribute.flag.name} & names
    ]


def find_computable_rows(
    batch: pa.RecordBatch, attribute_columns: Mapping[str, int], expressions: Sequence[Attribute]
) -> dict[str, Bools]:
    """Return for each expression the rows on which it raises no error.

    Args:
        batch: events with their attributes.
        attribute_columns: number of the column of each attribute, the flags included.
        expressions: derived attributes that can raise an error.

    Returns:
        By the name of the expression, a Boolean for each row: true if it raises no error there.
    """
    return {
        expression.name: np.asarray(
            batch.column(attribute_columns[expression.flag.name]).fill_null(False)
        )
        for expression in expressions
    }


@dataclass(frozen=True, slots=True)
class RaisingPairs:
    """Undecided pairs of one expression, which raises an error on the events of these pairs.

    Pair i is the event with row number `event_rows[i]` and the subscription `subscription_ids[i]`.
    """

    expression: str
    event_rows: Rows
    subscription_ids: pa.Array


def find_undecided_pairs(
    snapshot: Snapshot, events: Events, computable: Mapping[str, Bools]
) -> Iterator[RaisingPairs]:
    """Yield the pairs that are undecided because an expression raises an error on the event.

    A pair is yielded for an expression if the event could match with suitable values of all
    expressions that raise, but cannot match while this expression is null, even with suitable
    values of the other expressions.

    Args:
        snapshot: the subscriptions.
        events: the events.
        computable: result of `find_computable_rows` for the events.

    Cost: index queries for the events on which an expression raises; nothing for other events.
    """
    names = list(computable)
    failed = np.stack([~computable[name] for name in names], axis=1)
    failed_rows = np.flatnonzero(failed.any(axis=1))
    # Events on which the same expressions raise are queried together.
    patterns, pattern_numbers = np.unique(failed[failed_rows], axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        expressions = [names[i] for i in np.flatnonzero(pattern)]
        pattern_rows = failed_rows[pattern_numbers.ravel() == number]
        for start in range(0, len(pattern_rows), _MAX_QUERY_EVENTS):
            query_rows = pattern_rows[start : start + _MAX_QUERY_EVENTS]
            points = Regions.from_events(events.take(query_rows))
            # Pairs that would match if every expression that raises had a suitable value.
            possible = snapshot.find_overlapping(_free_expressions(points, expressions))
            for expression in expressions:
                others = [other for other in expressions if other != expression]
                decided = snapshot.find_overlapping(_free_expressions(points, others))
                undecided = _subtract_pairs(possible, decided)
                if len(undecided):
                    ids = snapshot.take_ids(undecided.stored_rows)
                    yield RaisingPairs(expression, query_rows[undecided.query_rows], ids)


def _free_expressions(points: Regions, expressions: Sequence[str]) -> Regions:
    """Return `points` without the constraints on these expressions and on their flags."""
    flags = (points.space[name].flag.name for name in expressions)
    free = {*expressions, *flags}
    constraints = {
        name: constraint for name, constraint in points.constraints.items() if name not in free
    }
    return replace(points, constraints=constraints)


def _subtract_pairs(pairs: Pairs, others: Pairs) -> Pairs:
    """Return the elements of `pairs` that are not in `others`, sorted."""
    row_count = 1 + max(int(each.stored_rows.max(initial=0)) for each in (pairs, others))
    pair_numbers, other_numbers = (
        each.query_rows.astype(np.int64) * row_count + each.stored_rows for each in (pairs, others)
    )
    difference = np.setdiff1d(pair_numbers, other_numbers)
    return Pairs(difference // row_count, difference % row_count)


@dataclass(frozen=True, slots=True)
class FindUndecidedTask:
    """Function of a `mapInArrow` that finds undecided pairs of events and subscriptions.

    Input columns: the event as a struct, then attributes, including the flags of `expressions`.
    Output columns: the id of the subscription, the position of the expression in `expressions`, and
    the event.

    Args:
        location: location of the store.
        version: number of the version.
        label: label of the version.
        attribute_columns: number of the column of each attribute.
        expressions: derived attributes that raise an error on some event.
        id_type: conversion of ids.
    """

    location: str
    version: int
    label: str | None
    attribute_columns: Mapping[str, int]
    expressions: tuple[Attribute, ...]
    id_type: IdType

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        snapshot = open_snapshot(self.location, self.version, self.label)
        numbers = {expression.name: number for number, expression in enumerate(self.expressions)}
        for batch in rebatch(batches):
            events = to_events(batch, self.attribute_columns, snapshot.space)
            computable = find_computable_rows(batch, self.attribute_columns, self.expressions)
            for pairs in find_undecided_pairs(snapshot, events, computable):
                columns: list[Any] = [
                    self.id_type.from_store(pairs.subscription_ids),
                    pa.repeat(numbers[pairs.expression], len(pairs.event_rows)).cast(pa.int32()),
                    batch.column(0).take(pa.array(pairs.event_rows)),
                ]
                yield pa.RecordBatch.from_arrays(columns, ["id", "expression", "event"])
        freeze_gc()
