"""Regions: conjunctions of one constraint per attribute, as columns.

n regions hold, for every attribute that any of them constrains, the rows that do and a batch of
their constraints. What a row does not constrain costs nothing. A region without a constraint is
the whole space; regions that admit nothing do not occur (`Regions.from_constraints` drops them and
says so).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from covey.errors import SchemaError
from covey.geometry.balls import Ball, Balls
from covey.geometry.distances import Metric
from covey.geometry.scalars import Scalars
from covey.geometry.tags import TagRule, Tags
from covey.space import Attribute, Events, Space, Type
from covey.space.events import ScalarColumn, TagColumn, ValueState, VectorColumn
from covey.space.keys import key_domain

__all__ = ["ConstraintBatch", "Constraints", "Regions"]

Rows = NDArray[np.int64]
ConstraintBatch = Scalars | Tags | Balls
B = TypeVar("B", Scalars, Tags, Balls)


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints on one attribute: `batch` row k belongs to region `rows[k]` (ascending)."""

    rows: Rows
    batch: ConstraintBatch

    def locate_rows(self, region_rows: NDArray[np.integer[Any]]) -> tuple[Rows, NDArray[np.bool_]]:
        """For regions by number: where in `batch` each stands, and whether it is there at all."""
        if not len(self.rows):
            return np.zeros(len(region_rows), np.int64), np.zeros(len(region_rows), np.bool_)
        last = len(self.rows) - 1
        if self.rows[-1] == last:  # every region up to there is constrained
            return np.minimum(region_rows, last), region_rows <= last
        places = np.minimum(np.searchsorted(self.rows, region_rows), last)
        return places, self.rows[places] == region_rows


@dataclass(frozen=True, slots=True)
class Regions:
    """n regions of one space.

    Cost: what is constrained, 17 bytes a scalar interval. `take` copies, and changes no row.
    """

    space: Space
    count: int
    constraints: Mapping[str, Constraints]

    @classmethod
    def from_constraints(
        cls, space: Space, count: int, constraints: Mapping[str, Constraints]
    ) -> tuple[Regions, Rows]:
        """Regions without those that admit nothing, and the numbers of those that were kept."""
        empty = np.zeros(count, np.bool_)
        for name, given in constraints.items():
            if name not in space:
                raise SchemaError(f"regions constrain {name!r}, which the space does not have")
            empty[given.rows[given.batch.is_empty]] = True
        kept = np.flatnonzero(~empty)
        return cls(space, count, constraints).take(kept), kept

    @classmethod
    def from_events(cls, events: Events) -> Regions:
        """Events as regions of size zero: what contains the event covers its region."""
        rows = np.arange(len(events))
        constraints = {
            name: Constraints(rows, _build_point_batch(column, events.space, name))
            for name, column in events.columns.items()
        }
        return cls(events.space, len(events), constraints)

    @classmethod
    def concat(cls, collections: Sequence[Regions]) -> Regions:
        """All regions of all parts, one after another, in the space of all their attributes."""
        space = collections[0].space.with_derived(
            *(a for part in collections for a in part.space.derived)
        )
        starts = np.cumsum([0, *(part.count for part in collections)])
        names = dict.fromkeys(name for part in collections for name in part.constraints)
        constraints = {}
        for name in names:
            having = [
                (s, p.constraints[name])
                for s, p in zip(starts, collections, strict=False)
                if name in p.constraints
            ]
            rows = np.concatenate([start + given.rows for start, given in having])
            batches = [given.batch for _, given in having]
            constraints[name] = Constraints(rows, type(batches[0]).concat(batches))  # type: ignore[arg-type]
        return cls(space, int(starts[-1]), constraints)

    def __len__(self) -> int:
        return self.count

    def take(self, rows: Rows) -> Regions:
        """The given regions in the given order, a repeated one as often as it is named."""
        constraints = {}
        for name, given in self.constraints.items():
            places, there = given.locate_rows(rows)
            batch = given.batch.take(places[there])
            kept = ~batch.is_unconstrained
            if not kept.all():
                batch = batch.take(np.flatnonzero(kept))
            if len(batch):
                constraints[name] = Constraints(np.flatnonzero(there)[kept], batch)
        return Regions(self.space, len(rows), constraints)

    def gather_constraints(self, attribute: Attribute, rows: Rows) -> ConstraintBatch:
        """The constraints of the given regions on one attribute, free ones included."""
        name, free = attribute.name, build_unconstrained_batch(attribute.type, 1)
        if name not in self.constraints:
            return free.take(np.zeros(len(rows), np.int64))
        given = self.constraints[name]
        places, there = given.locate_rows(rows)
        if there.all():
            return given.batch.take(places)
        both = type(free).concat([free, given.batch])  # type: ignore[list-item]
        return both.take(np.where(there, places + 1, 0))


def build_unconstrained_batch(type_: Type, count: int) -> ConstraintBatch:
    """`count` rows that do not constrain an attribute."""
    if type_.is_vector:
        return Balls.build_unconstrained(count, type_.length)
    return (
        Tags.build_unconstrained(count)
        if type_.is_tags
        else Scalars.build_unconstrained(key_domain(type_), count)
    )


def _build_point_batch(
    column: ScalarColumn | TagColumn | VectorColumn, space: Space, name: str
) -> ConstraintBatch:
    """Each row of a column as the constraint that admits just it."""
    if isinstance(column, VectorColumn):
        vectors = [tuple(vector) for vector in column.matrix.tolist()]
        return Balls.from_rows(
            [
                (state, [Ball(Metric.L2, vector, 0, 0, True)] if state == ValueState.VALUE else [])
                for vector, state in zip(vectors, column.states.tolist(), strict=True)
            ],
            column.matrix.shape[1],
        )
    if isinstance(column, TagColumn):
        lists = [column.tokens.row(i).tolist() for i in range(len(column.valid))]
        return Tags.from_rules(
            [
                _build_exact_rule(tokens) if valid else TagRule(ValueState.NULL)
                for tokens, valid in zip(lists, column.valid.tolist(), strict=True)
            ]
        )
    whole = key_domain(space[name].type)
    lower, upper = column.keys.copy(), column.keys.copy()
    lower[~column.valid], upper[~column.valid] = whole.high, whole.low
    return Scalars.from_intervals(whole, lower, upper, nulls=~column.valid)


def _build_exact_rule(tokens: list[str | None]) -> TagRule:
    """The lists with just these tokens (and, if one is null, null elements or none)."""
    named = frozenset(token for token in tokens if token is not None)
    return TagRule(
        ValueState.VALUE,
        frozenset(frozenset([t]) for t in named),
        whole=None not in tokens,
        only=named,
    )
