"""Constraints that boxes of codes cannot say: lists, null beside an interval, tags, balls.

Boxes propose, these decide. Kept by attribute: which boxes have one, and the constraints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry.balls import Balls
from covey.geometry.regions import Constraints
from covey.geometry.scalars import Scalars
from covey.index.asked import Asked
from covey.index.columns import Column
from covey.index.kernels.lists import keys_admitted
from covey.index.kernels.tags import lists_admitted
from covey.index.vocabulary import Vocabulary
from covey.space import Events
from covey.space.events import VectorColumn

__all__ = ["Rest"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
By = Column | Vocabulary | None


@dataclass(frozen=True, slots=True)
class Rest:
    """Constraints of one attribute that boxes cannot say; `by` tells what their integers mean."""

    name: str
    by: By
    constraints: Constraints

    def holds(self, events: Events, asked: Asked, owners: Any, places: Any) -> Bools:
        """Whether box `places[i]`, if it is constrained here, admits event `owners[i]`."""
        at, there = self.constraints.find(places)
        answer = np.ones(len(owners), np.bool_)
        pairs = np.flatnonzero(there)
        if len(pairs):
            answer[pairs] = self._admitted(events, asked, owners[pairs], at[pairs])
        return answer

    def originals(self, places: Ints) -> Constraints:
        """The constraints on keys and tokens of some places; rows are numbers of those."""
        at, there = self.constraints.find(places)
        batch: Any = self.constraints.batch.take(at[there])
        return Constraints(
            np.flatnonzero(there), batch if self.by is None else self.by.originals(batch)
        )

    def _admitted(self, events: Events, asked: Asked, owners: Any, at: Ints) -> Bools:
        batch, column = self.constraints.batch, events[self.name]
        if isinstance(batch, Balls):
            assert isinstance(column, VectorColumn)
            return batch.take(at).contains(column.matrix[owners], column.states[owners])
        assert not isinstance(column, VectorColumn)
        integers = asked.integers[self.name]
        found: Bools
        if isinstance(batch, Scalars):
            found = keys_admitted(
                owners, at, integers, column.valid, batch.lower, batch.upper, batch.nulls,
                batch.listed, batch.lists.offsets, batch.lists.values,
            )  # fmt: skip
            return found
        found = lists_admitted(
            owners, at, integers.offsets, integers.values, column.valid, batch.states,
            batch.groups.offsets, batch.tokens.offsets, batch.tokens.values,
            batch.forbidden.offsets, batch.forbidden.values, batch.whole, batch.bounded,
            batch.only.offsets, batch.only.values,
        )  # fmt: skip
        return found
