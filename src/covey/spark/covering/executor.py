"""Executor that runs the distributable steps of a reduction in Spark tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.covering.absorber_index import AbsorberIndex
from covey.covering.cover_pointers import find_covering_rows
from covey.covering.hull_merging import HullGroup, HullMerges, propose_merges
from covey.covering.region_boxes import RegionBoxes
from covey.covering.subsumption import Subsumption, find_subsumed
from covey.index import SegmentIndex
from covey.space.ragged_array import RaggedArray
from covey.spark.covering.shared_array_job import NamedArrays, SharedArrayJob, concat_answers
from covey.store.manifest import space_from_json, space_to_json
from covey.store.storage import MappedArrays

__all__ = ["SparkExecutor"]

Rows = NDArray[np.int64]
_PORTION_ROWS = 1 << 17  # rows of a task: few enough to use all workers and to show progress
_PORTION_GROUPS = 64  # groups of boxes of a task


@dataclass(frozen=True, slots=True)
class SparkExecutor:
    """Implementation of `covey.covering.Executor` with Spark tasks."""

    job: SharedArrayJob

    def find_covering_rows(self, index: SegmentIndex) -> Rows:
        """Return for each indexed region the row of another region that covers it.

        The row is -1 if no other region covers the region.
        """
        with self._share_indexes({}, index=index) as file:
            answers = self.job.run(_find_covers_in_portion, file, len(index), _PORTION_ROWS)
        return concat_answers(answers, "found").astype(np.int64)

    def find_subsumed(self, absorbing: AbsorberIndex, budget: int) -> Subsumption:
        """Find the boxes that are subsumed by others.

        A box is tested with at most `budget` subtractions of other boxes from its pieces. If a
        piece remains, the box counts as not subsumed.
        """
        boxes = absorbing.boxes
        arrays: dict[str, NDArray[Any]] = {
            "lower": boxes.lower, "upper": boxes.upper, "rest": boxes.residual_ids,
            "ranks": absorbing.ranks, "leaders": absorbing.largest_rows,
        }  # fmt: skip
        indexes = {"index": absorbing.index, "leading": absorbing.largest_index}
        arrays["is_crowded"] = np.array([absorbing.is_crowded])
        with self._share_indexes(arrays, **indexes) as file:
            work = partial(_find_subsumed_in_portion, budget)
            answers = self.job.run(work, file, len(boxes), _PORTION_ROWS // 4)
        lengths = concat_answers(answers, "lengths").astype(np.int64)
        absorbers = RaggedArray.from_lengths(
            lengths, concat_answers(answers, "absorbers").astype(np.int64)
        )
        witnessed = concat_answers(answers, "witnessed")
        return Subsumption(np.arange(len(boxes)), absorbers, witnessed)

    def propose_merges(
        self, groups: Sequence[HullGroup], unwanted: NDArray[np.int32] | None, limit: float
    ) -> list[HullMerges]:
        """Return the hull merges that each group of boxes proposes, in the order of the groups.

        Args:
            groups: boxes that may be merged with each other.
            unwanted: sampled events that no subscription matches, as codes; None without a sample.
            limit: largest total cost of the merges of a group.
        """
        if not groups:
            return []
        arrays: dict[str, NDArray[Any]] = {
            name: np.concatenate([getattr(group, name) for group in groups])
            for name in HullGroup._fields
        }
        arrays["starts"] = np.cumsum([0, *(len(group.rows) for group in groups)])
        if unwanted is not None:
            arrays["unwanted"] = unwanted
        with self.job.share_arrays(arrays, {}) as file:
            work = partial(_propose_merges_in_portion, limit)
            answers = self.job.run(work, file, len(groups), _PORTION_GROUPS)
        starts = np.cumsum(concat_answers(answers, "counts"))[:-1]
        columns = [np.split(concat_answers(answers, name), starts) for name in HullMerges._fields]
        return [HullMerges(*fields) for fields in zip(*columns, strict=True)]

    def _share_indexes(self, arrays: NamedArrays, **indexes: SegmentIndex) -> Any:
        """Share arrays, and the arrays of indexes, with all tasks.

        The arrays of an index are stored under names that begin with the name of the index and a
        dot.
        """
        index_arrays = {
            f"{index_name}.{name}": array
            for index_name, index in indexes.items()
            for name, array in index.to_arrays().items()
        }
        spaces = {name: space_to_json(index.space) for name, index in indexes.items()}
        return self.job.share_arrays({**arrays, **index_arrays}, spaces)


def _open_index(shared_arrays: MappedArrays, index_name: str = "index") -> SegmentIndex:
    """Return a shared index; the names of its arrays begin with `index_name` and a dot."""
    arrays = {
        name.removeprefix(f"{index_name}."): array
        for name, array in shared_arrays.arrays.items()
        if name.startswith(f"{index_name}.")
    }
    return SegmentIndex.from_arrays(space_from_json(shared_arrays.meta[index_name]), arrays)


def _find_covers_in_portion(shared_arrays: MappedArrays, start: int, stop: int) -> NamedArrays:
    rows = find_covering_rows(_open_index(shared_arrays), np.arange(start, stop))
    return {"found": rows.astype(np.int32)}


def _find_subsumed_in_portion(
    budget: int, shared_arrays: MappedArrays, start: int, stop: int
) -> NamedArrays:
    arrays = shared_arrays.arrays
    boxes = RegionBoxes((), arrays["lower"], arrays["upper"], arrays["rest"])
    indexes = _open_index(shared_arrays), _open_index(shared_arrays, "leading")
    absorbing = AbsorberIndex(
        boxes, arrays["ranks"], indexes[0], arrays["leaders"], indexes[1],
        bool(arrays["is_crowded"][0]),
    )  # fmt: skip
    subsumption = find_subsumed(absorbing, np.arange(start, stop), budget)
    return {
        "lengths": subsumption.absorbers.lengths.astype(np.int32),
        "absorbers": subsumption.absorbers.values.astype(np.int32),
        "witnessed": subsumption.is_witnessed,
    }


def _propose_merges_in_portion(
    limit: float, shared_arrays: MappedArrays, start: int, stop: int
) -> NamedArrays:
    arrays = shared_arrays.arrays
    unwanted, starts = arrays.get("unwanted"), arrays["starts"]
    merges = []
    for n in range(start, stop):
        group_rows = slice(starts[n], starts[n + 1])
        group = HullGroup(
            *(np.ascontiguousarray(arrays[name][group_rows]) for name in HullGroup._fields)
        )
        merges.append(propose_merges(group, unwanted, limit))
    counts = np.array([len(each.costs) for each in merges], np.int64)
    fields = {
        name: np.concatenate([getattr(each, name) for each in merges])
        for name in HullMerges._fields
    }
    return {"counts": counts, **fields}
