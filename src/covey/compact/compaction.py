"""A fixed set of regions made small, in one process: covering, subsumption, merging in this order.

Equal regions are one, covered ones are under another, subsumed ones under several; what is left is
active, and its union is that of all. Filters are hulls of active regions. The same steps over parts
of the rows, as tasks would do them, come to the same result.

Cost: about 50 µs per region, most of it for the active ones, and what merging takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from covey.compact.absorbing import Absorbing
from covey.compact.boxes import Boxes
from covey.compact.clock import Clock
from covey.compact.covering import Covered, equal_rows
from covey.compact.filtering import filters_of
from covey.compact.summary import Summary
from covey.compact.workers import Here, Workers
from covey.geometry import Regions
from covey.space import Events
from covey.space.ragged import Ragged

__all__ = ["Budget", "Compaction", "Standing", "compact"]

Rows = NDArray[np.int64]


class Standing(IntEnum):
    """What became of a region. Of several regions of one subscription the least counts."""

    ACTIVE = 0
    SUBSUMED = 1  # by the union of several
    COVERED = 2  # by one
    EQUAL = 3  # to one that came before it


@dataclass(frozen=True, slots=True)
class Budget:
    """How much is tried, and how much may be let in.

    `subtractions`: regions that are taken out of one to see whether anything is left. `added`: the
    share of events that filters may let in beyond what is wanted, of a sample, or without one of
    the space as ends are spread in it; of 0 only perfect merges are.
    """

    subtractions: int = 32
    added: float = 0.0


@dataclass(frozen=True, slots=True)
class Compaction:
    """For each region its standing and those that absorb it; filters and their members.

    An absorber is active or absorbed by larger ones in turn, never in a circle.

    All are numbers of regions; `filters` are regions too, and cover their members.
    """

    standing: NDArray[np.int8]
    absorbers: Ragged
    filters: Regions
    members: Ragged
    summary: Summary
    seconds: Mapping[str, float]
    """How long each step took."""


def compact(
    regions: Regions,
    of: Rows,
    sample: Events | None = None,
    budget: Budget | None = None,
    workers: Workers | None = None,
) -> Compaction:
    """Compacts regions, of which number i belongs to subscription `of[i]`.

    Guarantee: the union of the active regions is that of all, filters contain it, and of the half
    of a sample that merging did not see they let in no more than the budget allows. The result is
    the same every time, whoever the workers are.
    """
    budget = Budget() if budget is None else budget
    workers = Here() if workers is None else workers
    clock = Clock()
    boxes = Boxes.of(regions)
    equal = equal_rows(boxes)
    clock.took("equality")
    covered = Covered.of(regions, equal, workers.covers)
    distinct, covered_by, index = covered.distinct, covered.by, covered.index
    maximal = np.flatnonzero(covered_by == np.arange(len(regions)))
    clock.took("covering")
    found = workers.subsumed(Absorbing.of(boxes.take(maximal)), budget.subtractions)
    absorbers = _absorbers(covered_by, maximal, found.absorbers)
    standing = np.full(len(regions), Standing.COVERED, np.int8)
    standing[equal != np.arange(len(regions))] = Standing.EQUAL
    standing[maximal] = np.where(found.is_absorbed, Standing.SUBSUMED, Standing.ACTIVE)
    clock.took("subsumption")
    order = distinct[index.parts.order]
    order = order[standing[order] == Standing.ACTIVE]
    filters = filters_of(regions, boxes, order, index, sample, budget.added, workers)
    clock.took("merging")
    summary = Summary(
        subscriptions=len(np.unique(of)),
        passive=len(np.unique(of)) - len(np.unique(of[order])),
        regions=len(regions),
        equal=len(regions) - len(distinct),
        covered=len(distinct) - len(maximal),
        subsumed=len(maximal) - len(order),
        undecided=int(found.is_out_of_budget.sum()),
        perfectly_merged=filters.perfect,
        imperfectly_merged=filters.imperfect,
        sampled=len(filters.is_wanted),
        wanted=int(filters.is_wanted.sum()),
        false_forwards=filters.false_forwards,
    )
    return Compaction(standing, absorbers, filters.regions, filters.members, summary, clock.seconds)


def _absorbers(covered_by: Rows, maximal: Rows, found: Ragged) -> Ragged:
    """The regions that each region is under: one that covers it, or those that subsume it."""
    lengths = (covered_by != np.arange(len(covered_by))).astype(np.int64)
    single = Ragged.from_lengths(lengths, covered_by[lengths > 0])
    several = np.zeros(len(covered_by), np.int64)
    several[maximal] = found.lengths
    return single.beside(Ragged.from_lengths(several, maximal[found.values]))
