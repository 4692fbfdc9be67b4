"""The parts of a compaction that workers share, as Spark runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.compact.absorbing import Absorbing
from covey.compact.boxes import Boxes
from covey.compact.covering import covers_of
from covey.compact.merging import Group, Merges, merges
from covey.compact.subsumption import Subsumption, subsumed
from covey.index import Segment
from covey.space.ragged import Ragged
from covey.spark.portions import Named, Portions, together
from covey.store.arrays import Arrays
from covey.store.spaces import space_from_json, space_to_json

__all__ = ["SparkWorkers"]

Rows = NDArray[np.int64]
_ROWS = 1 << 17  # at once: enough for all to have some, few enough to see progress
_GROUPS = 64


@dataclass(frozen=True, slots=True)
class SparkWorkers:
    """`covey.compact.Workers` whose work is done in Spark's tasks."""

    portions: Portions

    def covers(self, index: Segment) -> Rows:
        """For each indexed region another that covers it, -1 if there is none."""
        with self._shared({}, index=index) as file:
            answers = self.portions.run(_covers, file, len(index), _ROWS)
        return together(answers, "found").astype(np.int64)

    def subsumed(self, absorbing: Absorbing, budget: int) -> Subsumption:
        """What becomes of all boxes if at most so many are taken out of each."""
        boxes = absorbing.boxes
        arrays: dict[str, NDArray[Any]] = {
            "lower": boxes.lower, "upper": boxes.upper, "rest": boxes.rest,
            "ranks": absorbing.ranks, "leaders": absorbing.leaders,
        }  # fmt: skip
        indexes = {"index": absorbing.index, "leading": absorbing.leading}
        arrays["is_crowded"] = np.array([absorbing.is_crowded])
        with self._shared(arrays, **indexes) as file:
            work = partial(_subsumed, budget)
            answers = self.portions.run(work, file, len(boxes), _ROWS // 4)
        lengths = together(answers, "lengths").astype(np.int64)
        absorbers = Ragged.from_lengths(lengths, together(answers, "absorbers").astype(np.int64))
        witnessed = together(answers, "witnessed")
        return Subsumption(np.arange(len(boxes)), absorbers, witnessed)

    def merges(
        self, groups: Sequence[Group], unwanted: NDArray[np.int32] | None, limit: float
    ) -> list[Merges]:
        """What each group proposes."""
        if not groups:
            return []
        arrays: dict[str, NDArray[Any]] = {
            name: np.concatenate([getattr(group, name) for group in groups])
            for name in Group._fields
        }
        arrays["starts"] = np.cumsum([0, *(len(group.rows) for group in groups)])
        if unwanted is not None:
            arrays["unwanted"] = unwanted
        with self.portions.shared(arrays, {}) as file:
            work = partial(_merges, limit)
            answers = self.portions.run(work, file, len(groups), _GROUPS)
        starts = np.cumsum(together(answers, "counts"))[:-1]
        parts = [np.split(together(answers, name), starts) for name in Merges._fields]
        return [Merges(*fields) for fields in zip(*parts, strict=True)]

    def _shared(self, arrays: Named, **indexes: Segment) -> Any:
        """Shares arrays and indexes."""
        indexed = {
            f"{which}.{name}": array
            for which, index in indexes.items()
            for name, array in index.arrays().items()
        }
        spaces = {which: space_to_json(index.space) for which, index in indexes.items()}
        return self.portions.shared({**arrays, **indexed}, spaces)


def _index(shared: Arrays, which: str = "index") -> Segment:
    """A shared index."""
    arrays = {
        name.removeprefix(f"{which}."): array
        for name, array in shared.arrays.items()
        if name.startswith(f"{which}.")
    }
    return Segment.from_arrays(space_from_json(shared.meta[which]), arrays)


def _covers(shared: Arrays, start: int, stop: int) -> Named:
    return {"found": covers_of(_index(shared), np.arange(start, stop)).astype(np.int32)}


def _subsumed(budget: int, shared: Arrays, start: int, stop: int) -> Named:
    arrays = shared.arrays
    boxes = Boxes((), arrays["lower"], arrays["upper"], arrays["rest"])
    indexes = _index(shared), _index(shared, "leading")
    absorbing = Absorbing(
        boxes, arrays["ranks"], indexes[0], arrays["leaders"], indexes[1],
        bool(arrays["is_crowded"][0]),
    )  # fmt: skip
    found = subsumed(absorbing, np.arange(start, stop), budget)
    return {
        "lengths": found.absorbers.lengths.astype(np.int32),
        "absorbers": found.absorbers.values.astype(np.int32),
        "witnessed": found.is_witnessed,
    }


def _merges(limit: float, shared: Arrays, start: int, stop: int) -> Named:
    arrays = shared.arrays
    unwanted, starts = arrays.get("unwanted"), arrays["starts"]
    found = []
    for n in range(start, stop):
        inside = slice(starts[n], starts[n + 1])
        group = Group(*(np.ascontiguousarray(arrays[name][inside]) for name in Group._fields))
        found.append(merges(group, unwanted, limit))
    counts = np.array([len(some.costs) for some in found], np.int64)
    fields = {name: np.concatenate([getattr(m, name) for m in found]) for name in Merges._fields}
    return {"counts": counts, **fields}
