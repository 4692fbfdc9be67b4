"""Constraints that boxes of codes cannot say: lists, null beside an interval, tags, balls.

Boxes propose, these decide. Stored by attribute: which boxes have one, and the constraints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry.balls import Balls
from covey.geometry.regions import Constraints
from covey.geometry.scalars import Scalars
from covey.index.kernels.residuals import verify_keys, verify_tags
from covey.index.segment.encoded_column import EncodedColumn
from covey.index.segment.query.encoded_query import EncodedQuery
from covey.index.segment.token_vocabulary import TokenVocabulary
from covey.space import Events
from covey.space.events import VectorColumn

__all__ = ["ResidualConstraints"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Encoder = EncodedColumn | TokenVocabulary | None


@dataclass(frozen=True, slots=True)
class ResidualConstraints:
    """Constraints of one attribute that boxes cannot say; `encoder` tells what integers mean."""

    name: str
    encoder: Encoder
    constraints: Constraints

    def admits(
        self,
        events: Events,
        query: EncodedQuery,
        query_rows: NDArray[np.integer[Any]],
        ordinals: NDArray[np.integer[Any]],
    ) -> Bools:
        """Whether box `ordinals[i]`, if it is constrained here, admits event `query_rows[i]`."""
        at, there = self.constraints.locate_rows(ordinals)
        answer = np.ones(len(query_rows), np.bool_)
        pairs = np.flatnonzero(there)
        if len(pairs):
            answer[pairs] = self._admits_each(events, query, query_rows[pairs], at[pairs])
        return answer

    def restore_constraints(self, ordinals: Ints) -> Constraints:
        """The constraints on keys and tokens at some ordinals; rows are indices into these."""
        at, there = self.constraints.locate_rows(ordinals)
        batch: Any = self.constraints.batch.take(at[there])
        return Constraints(
            np.flatnonzero(there),
            batch if self.encoder is None else self.encoder.decode_constraints(batch),
        )

    def _admits_each(
        self, events: Events, query: EncodedQuery, query_rows: Any, constraint_rows: Ints
    ) -> Bools:
        batch, column = self.constraints.batch, events[self.name]
        if isinstance(batch, Balls):
            assert isinstance(column, VectorColumn)
            return batch.take(constraint_rows).contains(
                column.matrix[query_rows], column.states[query_rows]
            )
        assert not isinstance(column, VectorColumn)
        integers = query.integers[self.name]
        found: Bools
        if isinstance(batch, Scalars):
            found = verify_keys(
                query_rows,
                constraint_rows,
                integers,
                column.valid,
                batch.lower,
                batch.upper,
                batch.nulls,
                batch.listed,
                batch.lists.offsets,
                batch.lists.values,
            )
            return found
        found = verify_tags(
            query_rows,
            constraint_rows,
            integers.offsets,
            integers.values,
            column.valid,
            batch.states,
            batch.groups.offsets,
            batch.tokens.offsets,
            batch.tokens.values,
            batch.forbidden.offsets,
            batch.forbidden.values,
            batch.whole,
            batch.bounded,
            batch.only.offsets,
            batch.only.values,
        )
        return found
