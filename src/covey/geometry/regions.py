"""Regions: conjunctions of at most one constraint per attribute, stored as columns.

For each attribute that at least one region constrains, `Regions` contains the rows of the
constraining regions and a batch of their constraints. An attribute that a region does not constrain
takes no memory. A region without constraints is the whole space. `Regions.from_constraints` drops
regions that admit no event, so such regions do not occur.
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
    """The constraints on one attribute: row k of `batch` belongs to region `rows[k]`.

    `rows` is ascending and has no duplicates.
    """

    rows: Rows
    batch: ConstraintBatch

    def locate_rows(self, region_rows: NDArray[np.integer[Any]]) -> tuple[Rows, NDArray[np.bool_]]:
        """Return for each region its row in `batch`, and whether it has one.

        If a region does not constrain the attribute, the returned row has no meaning.

        Args:
            region_rows: rows of regions, in any order.
        """
        if not len(self.rows):
            return np.zeros(len(region_rows), np.int64), np.zeros(len(region_rows), np.bool_)
        last = len(self.rows) - 1
        if self.rows[-1] == last:  # regions 0 to `last` are all constrained: region r has row r
            return np.minimum(region_rows, last), region_rows <= last
        batch_rows = np.minimum(np.searchsorted(self.rows, region_rows), last)
        return batch_rows, self.rows[batch_rows] == region_rows


@dataclass(frozen=True, slots=True)
class Regions:
    """`count` regions of one space; `constraints` contains their constraints by attribute name.

    Cost: 34 bytes per interval of integer keys. `take` copies the constraints.
    """

    space: Space
    count: int
    constraints: Mapping[str, Constraints]

    @classmethod
    def from_constraints(
        cls, space: Space, count: int, constraints: Mapping[str, Constraints]
    ) -> tuple[Regions, Rows]:
        """Return the regions that admit an event, and the row of each in the input.

        Empty regions, which admit no event, are dropped.

        Args:
            space: the attributes.
            count: number of regions in the input.
            constraints: constraints by attribute name.

        Raises:
            SchemaError: an attribute is not in the space.
        """
        empty = np.zeros(count, np.bool_)
        for name, attribute_constraints in constraints.items():
            if name not in space:
                raise SchemaError(
                    f"regions constrain attribute {name!r}, which is not in the space: "
                    "add it to the space"
                )
            empty[attribute_constraints.rows[attribute_constraints.batch.is_empty]] = True
        rows = np.flatnonzero(~empty)
        return cls(space, count, constraints).take(rows), rows

    @classmethod
    def from_events(cls, events: Events) -> Regions:
        """Return for each event the smallest region that contains it.

        Another region contains the event if and only if it covers this region.
        """
        rows = np.arange(len(events))
        constraints = {
            name: Constraints(rows, _build_point_batch(column, events.space, name))
            for name, column in events.columns.items()
        }
        return cls(events.space, len(events), constraints)

    @classmethod
    def concat(cls, collections: Sequence[Regions]) -> Regions:
        """Return all regions, one collection after another, in one space.

        The space has the derived attributes of all collections.

        Args:
            collections: at least one; their spaces differ at most in derived attributes.
        """
        space = collections[0].space.with_derived(
            *(a for regions in collections for a in regions.space.derived)
        )
        starts = np.cumsum([0, *(regions.count for regions in collections)])
        names = dict.fromkeys(name for regions in collections for name in regions.constraints)
        constraints = {}
        for name in names:
            sources = [
                (s, p.constraints[name])
                for s, p in zip(starts, collections, strict=False)
                if name in p.constraints
            ]
            rows = np.concatenate(
                [start + constraints_of_source.rows for start, constraints_of_source in sources]
            )
            batches = [constraints_of_source.batch for _, constraints_of_source in sources]
            constraints[name] = Constraints(rows, type(batches[0]).concat(batches))  # type: ignore[arg-type]
        return cls(space, int(starts[-1]), constraints)

    def __len__(self) -> int:
        """Return the number of regions."""
        return self.count

    def take(self, rows: Rows) -> Regions:
        """Return the given regions in the given order; a region may occur several times."""
        constraints = {}
        for name, attribute_constraints in self.constraints.items():
            batch_rows, is_constrained = attribute_constraints.locate_rows(rows)
            batch = attribute_constraints.batch.take(batch_rows[is_constrained])
            is_constraining = ~batch.is_unconstrained
            if not is_constraining.all():
                batch = batch.take(np.flatnonzero(is_constraining))
            if len(batch):
                constraints[name] = Constraints(
                    np.flatnonzero(is_constrained)[is_constraining], batch
                )
        return Regions(self.space, len(rows), constraints)

    def gather_constraints(self, attribute: Attribute, rows: Rows) -> ConstraintBatch:
        """Return for each of the given regions its constraint on an attribute.

        A region that does not constrain the attribute gets a constraint that admits every value
        and null.
        """
        name, free = attribute.name, build_unconstrained_batch(attribute.type, 1)
        if name not in self.constraints:
            return free.take(np.zeros(len(rows), np.int64))
        attribute_constraints = self.constraints[name]
        batch_rows, is_constrained = attribute_constraints.locate_rows(rows)
        if is_constrained.all():
            return attribute_constraints.batch.take(batch_rows)
        batch = type(free).concat([free, attribute_constraints.batch])  # type: ignore[list-item]
        return batch.take(np.where(is_constrained, batch_rows + 1, 0))


def build_unconstrained_batch(type_: Type, count: int) -> ConstraintBatch:
    """Return `count` constraints, on an attribute of a type, that admit every value and null."""
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
    """Return for each row of a column the smallest constraint that admits its value or its null."""
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
    """Return the rule for lists with exactly these tokens, in any order, with any repetitions.

    If a token is null, lists with and without null elements satisfy the rule.
    """
    tokens_without_null = frozenset(token for token in tokens if token is not None)
    return TagRule(
        ValueState.VALUE,
        frozenset(frozenset([t]) for t in tokens_without_null),
        whole=None not in tokens,
        only=tokens_without_null,
    )
