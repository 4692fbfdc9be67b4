"""Residual constraints: lists, null beside an interval, tags and balls.

A box of codes cannot express these constraints, so they are verified on candidates. They are stored
by attribute, together with the ordinals of their regions.
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
    """Residual constraints on one attribute.

    The rows of `constraints` are ordinals of regions. The batch of `constraints` has the integers
    by which `encoder` replaces keys or tokens. If `encoder` is None, the batch has balls.
    """

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
        """Return for each i whether the constraint at `ordinals[i]` admits event `query_rows[i]`.

        The result is true at ordinals without a residual constraint.
        """
        constraint_rows, is_constrained = self.constraints.locate_rows(ordinals)
        is_admitted = np.ones(len(query_rows), np.bool_)
        pairs = np.flatnonzero(is_constrained)
        if len(pairs):
            is_admitted[pairs] = self._admits_each(
                events, query, query_rows[pairs], constraint_rows[pairs]
            )
        return is_admitted

    def restore_constraints(self, ordinals: Ints) -> Constraints:
        """Return the constraints at these ordinals, on keys, tokens or vectors.

        Rows of the result are positions in `ordinals`.
        """
        constraint_rows, is_constrained = self.constraints.locate_rows(ordinals)
        batch: Any = self.constraints.batch.take(constraint_rows[is_constrained])
        return Constraints(
            np.flatnonzero(is_constrained),
            batch if self.encoder is None else self.encoder.decode_constraints(batch),
        )

    def _admits_each(
        self, events: Events, query: EncodedQuery, query_rows: Any, constraint_rows: Ints
    ) -> Bools:
        """Return the result of `admits` for constraints that exist.

        `constraint_rows` are rows of the batch of constraints.
        """
        batch, column = self.constraints.batch, events[self.name]
        if isinstance(batch, Balls):
            assert isinstance(column, VectorColumn)
            return batch.take(constraint_rows).contains(
                column.matrix[query_rows], column.states[query_rows]
            )
        assert not isinstance(column, VectorColumn)
        integers = query.integers[self.name]
        is_admitted: Bools
        if isinstance(batch, Scalars):
            is_admitted = verify_keys(
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
            return is_admitted
        is_admitted = verify_tags(
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
        return is_admitted
