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
from covey.spark.ids import IdType
from covey.spark.matching import portions, to_events
from covey.spark.worker import settle, snapshot
from covey.store import Snapshot

__all__ = ["Raised", "Raising", "computable_rows", "raised_pairs", "raising_attributes"]

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]

_AT_ONCE = 1 << 10  # events


def raising_attributes(space: Space, constrained: Sequence[str]) -> list[Attribute]:
    """Return the expressions that can raise, of those that some subscription looks at."""
    names = set(constrained)
    return [one for one in space.derived if one.can_raise and {one.name, one.flag.name} & names]


def computable_rows(
    batch: pa.RecordBatch, places: Mapping[str, int], expressions: Sequence[Attribute]
) -> dict[str, Bools]:
    """Return by expression on which rows it does not raise, from the columns of their flags."""
    return {
        one.name: np.asarray(batch.column(places[one.flag.name]).fill_null(False))
        for one in expressions
    }


@dataclass(frozen=True, slots=True)
class Raised:
    """An expression that raises on events, of which row `rows[i]` is then lost for `ids[i]`."""

    expression: str
    rows: Rows
    ids: pa.Array


def raised_pairs(
    version: Snapshot, events: Events, computable: Mapping[str, Bools]
) -> Iterator[Raised]:
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
        for start in range(0, len(some), _AT_ONCE):
            asked = some[start : start + _AT_ONCE]
            points = Regions.points(events.take(asked))
            expressions = [names[i] for i in np.flatnonzero(those)]
            if_all = version.overlapping(_free(points, expressions))
            for expression in expressions:
                others = [one for one in expressions if one != expression]
                decided = version.overlapping(_free(points, others))
                undecided = _without(if_all, decided)
                if len(undecided):
                    ids = version.ids(undecided.stored)
                    yield Raised(expression, asked[undecided.asked], ids)


def _free(points: Regions, expressions: Sequence[str]) -> Regions:
    """Return events as regions in which some expressions have any value."""
    flags = (points.space[name].flag.name for name in expressions)
    free = {*expressions, *flags}
    constraints = {n: given for n, given in points.constraints.items() if n not in free}
    return replace(points, constraints=constraints)


def _without(pairs: Pairs, others: Pairs) -> Pairs:
    """Return the pairs that are not among the others."""
    most = 1 + max(int(one.stored.max(initial=0)) for one in (pairs, others))
    mine, theirs = (one.asked.astype(np.int64) * most + one.stored for one in (pairs, others))
    left = np.setdiff1d(mine, theirs)
    return Pairs(left // most, left % most)


@dataclass(frozen=True, slots=True)
class Raising:
    """The function of a `mapInArrow` over events on which some expression raises.

    Its columns: the event, then attributes as `attributes` says, among them the flags of
    `expressions`. What comes out: the id, the number of the expression, and the event.
    """

    place: str
    version: int
    label: str | None
    attributes: Mapping[str, int]
    expressions: tuple[Attribute, ...]
    ids: IdType

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        version = snapshot(self.place, self.version, self.label)
        numbers = {one.name: number for number, one in enumerate(self.expressions)}
        for batch in portions(batches):
            events = to_events(batch, self.attributes, version.space)
            computable = computable_rows(batch, self.attributes, self.expressions)
            for raised in raised_pairs(version, events, computable):
                columns: list[Any] = [
                    self.ids.from_store(raised.ids),
                    pa.repeat(numbers[raised.expression], len(raised.rows)).cast(pa.int32()),
                    batch.column(0).take(pa.array(raised.rows)),
                ]
                yield pa.RecordBatch.from_arrays(columns, ["id", "expression", "event"])
        settle()
