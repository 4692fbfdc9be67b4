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
from covey.index.columns import Column
from covey.index.kernels.tags import lists_admitted
from covey.index.vocabulary import Vocabulary
from covey.space import Events
from covey.space.events import ScalarColumn, TagColumn, VectorColumn

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

    def holds(self, events: Events, asked: Ints, places: Ints) -> Bools:
        """Whether box `places[i]`, if it is constrained here, admits event `asked[i]`."""
        at, there = self.constraints.find(places)
        answer = np.ones(len(asked), np.bool_)
        pairs = np.flatnonzero(there)
        if len(pairs):
            answer[pairs] = self._admitted(events, asked[pairs], at[pairs])
        return answer

    def originals(self) -> Constraints:
        """The constraints on keys and tokens."""
        batch: Any = self.constraints.batch
        return (
            self.constraints
            if self.by is None
            else Constraints(
                self.constraints.rows,
                self.by.originals(batch),
            )
        )

    def _admitted(self, events: Events, asked: Ints, at: Ints) -> Bools:
        batch, column = self.constraints.batch, events[self.name]
        if isinstance(batch, Balls):
            assert isinstance(column, VectorColumn)
            return batch.take(at).contains(column.matrix[asked], column.states[asked])
        if isinstance(batch, Scalars):
            assert isinstance(column, ScalarColumn)
            assert isinstance(self.by, Column)
            return batch.take(at).contains(self.by.of_events(column)[asked], column.valid[asked])
        assert isinstance(column, TagColumn)
        assert isinstance(self.by, Vocabulary)
        lists = self.by.of_events(column)
        found: Bools = lists_admitted(
            asked, at, lists.offsets, lists.values, column.valid, batch.states,
            batch.groups.offsets, batch.tokens.offsets, batch.tokens.values,
            batch.forbidden.offsets, batch.forbidden.values, batch.whole, batch.bounded,
            batch.only.offsets, batch.only.values,
        )  # fmt: skip
        return found
