"""Events and subscriptions between which Spark raises an exception instead of an answer.

An expression that can raise is computed so that it is null where it does (`covey.space.guard`), and
then does not match. That is what `where` comes to, but nobody would hear of it: here are the pairs
for which such an expression would have decided.
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
    "UndecidedPairs",
    "find_computable_rows",
    "find_raising_attributes",
    "find_undecided_pairs",
]

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]

_MAX_QUERY_EVENTS = 1 << 10  # events


def find_raising_attributes(space: Space, constrained_attributes: Sequence[str]) -> list[Attribute]:
    """Return the expressions that can raise, of those that some subscription looks at."""
    names = set(constrained_attributes)
    return [one for one in space.derived if one.can_raise and {one.name, one.flag.name} & names]


def find_computable_rows(
    batch: pa.RecordBatch, attribute_columns: Mapping[str, int], expressions: Sequence[Attribute]
) -> dict[str, Bools]:
    """Return by expression on which rows it does not raise, from the columns of their flags."""
    return {
        one.name: np.asarray(batch.column(attribute_columns[one.flag.name]).fill_null(False))
        for one in expressions
    }


@dataclass(frozen=True, slots=True)
class UndecidedPairs:
    """An expression that raises on events, of which row `rows[i]` is then lost for `ids[i]`."""

    expression: str
    event_rows: Rows
    subscription_ids: pa.Array


def find_undecided_pairs(
    snapshot: Snapshot, events: Events, computable: Mapping[str, Bools]
) -> Iterator[UndecidedPairs]:
    """Find whom expressions that raise keep from being decided.

    A pair counts where all else that a region of the subscription asks for is there, and the event
    does not match. `computable` says of expressions on which events they do not raise.

    Cost: a question to the index for events on which an expression raises, none for the others.
    """
    names = list(computable)
    failed = np.stack([~computable[name] for name in names], axis=1)
    rows = np.flatnonzero(failed.any(axis=1))
    together, of = np.unique(failed[rows], axis=0, return_inverse=True)
    for number, those in enumerate(together):
        some = rows[of.ravel() == number]
        for start in range(0, len(some), _MAX_QUERY_EVENTS):
            asked = some[start : start + _MAX_QUERY_EVENTS]
            points = Regions.from_events(events.take(asked))
            expressions = [names[i] for i in np.flatnonzero(those)]
            if_all = snapshot.find_overlapping(_free_expressions(points, expressions))
            for expression in expressions:
                others = [one for one in expressions if one != expression]
                decided = snapshot.find_overlapping(_free_expressions(points, others))
                undecided = _subtract_pairs(if_all, decided)
                if len(undecided):
                    ids = snapshot.take_ids(undecided.stored_rows)
                    yield UndecidedPairs(expression, asked[undecided.query_rows], ids)


def _free_expressions(points: Regions, expressions: Sequence[str]) -> Regions:
    """Return events as regions in which some expressions have any value."""
    flags = (points.space[name].flag.name for name in expressions)
    free = {*expressions, *flags}
    constraints = {n: given for n, given in points.constraints.items() if n not in free}
    return replace(points, constraints=constraints)


def _subtract_pairs(pairs: Pairs, others: Pairs) -> Pairs:
    """Return the pairs that are not among the others."""
    most = 1 + max(int(one.stored_rows.max(initial=0)) for one in (pairs, others))
    mine, theirs = (
        one.query_rows.astype(np.int64) * most + one.stored_rows for one in (pairs, others)
    )
    left = np.setdiff1d(mine, theirs)
    return Pairs(left // most, left % most)


@dataclass(frozen=True, slots=True)
class FindUndecidedTask:
    """The function of a `mapInArrow` over events on which some expression raises.

    Its columns: the event, then attributes as `attributes` says, among them the flags of
    `expressions`. What comes out: the id, the number of the expression, and the event.
    """

    location: str
    version: int
    label: str | None
    attribute_columns: Mapping[str, int]
    expressions: tuple[Attribute, ...]
    id_type: IdType

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        version = open_snapshot(self.location, self.version, self.label)
        numbers = {one.name: number for number, one in enumerate(self.expressions)}
        for batch in rebatch(batches):
            events = to_events(batch, self.attribute_columns, version.space)
            computable = find_computable_rows(batch, self.attribute_columns, self.expressions)
            for raised in find_undecided_pairs(version, events, computable):
                columns: list[Any] = [
                    self.id_type.from_store(raised.subscription_ids),
                    pa.repeat(numbers[raised.expression], len(raised.event_rows)).cast(pa.int32()),
                    batch.column(0).take(pa.array(raised.event_rows)),
                ]
                yield pa.RecordBatch.from_arrays(columns, ["id", "expression", "event"])
        freeze_gc()
