"""The table of one link: adds and cancels in, what must be advertised and withdrawn out.

Everything happens region by region. A region is advertised, or it is under one that is: its
absorber, or that one's absorber, and so on up. So the union of what is advertised contains the
union of what lives, at every moment; `Steps` keeps it so on the other side of the link.

A cancelled region that others are under stays advertised until these have found another place.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.errors import ValueRefused
from covey.geometry import Regions
from covey.space import Space
from covey.table.active import Active, Under
from covey.table.grown import Grown
from covey.table.kept import Kept
from covey.table.maximal import maximal
from covey.table.steps import Steps

__all__ = ["Table"]

Numbers = NDArray[np.int64]
_AT_ONCE = 1024  # regions that are compared with each other
_MOVED = 4096  # regions that `cancel` finds another place for at once


class Table:
    """Subscriptions that came from everywhere but one link, and what was advertised on that link.

    Guarantee: who carries out all `Steps` in their order has advertised, at every moment, a
    superset of what lives; after `tidy`, no advertised region is covered by another one.

    Cost: of an add, asking the index of what is advertised, and indexing it a few times while
    others arrive; of a cancel, a pass over all regions, and an add for each that was under it.

    >>> import pyarrow as pa
    >>> from covey import parse
    >>> space = Space.of({"price": pa.float64()})
    >>> table, alerts = Table(space), parse(space, ["price > 5", "price > 7"])
    >>> table.add(["ann", "bob"], alerts.regions, alerts.of).advertised.tolist()
    [0]
    >>> table.absorbed_by("bob")
    ('ann',)
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self._kept = Kept(space)
        self._active = Active(self._kept)
        self._numbers: dict[Hashable, Numbers] = {}
        self._owners = Grown(-1)
        self._absorbers = Grown(-1)
        self._ids: list[Hashable] = []
        self._leaving = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, id_: Hashable) -> bool:
        return id_ in self._numbers

    @property
    def advertised(self) -> Numbers:
        """The numbers of all regions that are advertised, ascending."""
        return np.union1d(self._active.numbers, self._leaving)

    @property
    def is_settled(self) -> bool:
        """Whether nothing is advertised any more that was cancelled."""
        return not len(self._leaving)

    def regions(self, numbers: Numbers) -> Regions:
        """Regions by number."""
        return self._kept.take(numbers)

    def add(self, ids: Sequence[Hashable], regions: Regions, of: Numbers) -> Steps:
        """Adds subscriptions: region r belongs to `ids[of[r]]`. An id that is there is replaced."""
        if len(set(ids)) < len(ids):
            raise ValueRefused("an id is in one batch twice: give its last change only")
        replaced = [self._numbers.pop(id_) for id_ in ids if id_ in self._numbers]
        numbers = self._kept.add(regions)
        owners = np.asarray(of, np.int64) + len(self._ids)
        self._ids.extend(ids)
        self._owners.set(numbers, owners)
        order = np.argsort(of, kind="stable")
        counts = np.bincount(of, minlength=len(ids))
        self._numbers.update(
            zip(ids, np.split(numbers[order], np.cumsum(counts)[:-1]), strict=True)
        )
        steps = self._place(numbers)
        return Steps.concat([steps, self._leave(replaced)])

    def cancel(self, ids: Iterable[Hashable]) -> Steps:
        """Removes subscriptions; an id that is not there is no error.

        Where many regions were under what is removed, that stays advertised, and `settle` does the
        rest, some of it with every call.
        """
        return self._leave([self._numbers.pop(id_) for id_ in ids if id_ in self._numbers])

    def settle(self, most: int | None = None) -> Steps:
        """Finds another place for regions, at most so many, that are under what was cancelled."""
        if not len(self._leaving):
            return self._withdrawing([])
        living = self._living()
        roots = self._roots()[living]
        is_open = np.isin(roots, self._leaving)
        moved = living[is_open][:most]
        steps = self._place(moved)
        open_ = roots[is_open][len(moved) :]
        done = self._leaving[~np.isin(self._leaving, open_)]
        self._leaving = np.setdiff1d(self._leaving, done)
        return Steps.concat([steps, self._withdrawing(done)])

    def tidy(self) -> Steps:
        """Settles, and withdraws all that another advertised region covers.

        Adds and cancels do most of that by themselves. Cost: that of indexing all that is
        advertised.
        """
        settled = self.settle()
        return Steps.concat([settled, self._withdrawing(self._put_under(self._active.tidy()))])

    def absorbed_by(self, id_: Hashable) -> tuple[Hashable, ...]:
        """The subscriptions whose advertised regions contain all of this one.

        None if it has an advertised region itself; a `KeyError` if it is not there.
        """
        numbers = self._numbers[id_]
        tops = self._roots()[numbers]
        if (tops == numbers).any():
            return ()
        return tuple(dict.fromkeys(self._ids[owner] for owner in self._owners.values[tops]))

    def _leave(self, gone: Sequence[Numbers]) -> Steps:
        numbers = np.concatenate([np.empty(0, np.int64), *gone])
        self._owners.set(numbers, -1)
        leaving = numbers[self._active.holds(numbers)]
        self._active.remove(leaving)
        self._leaving = np.union1d(self._leaving, leaving)
        return self.settle(_MOVED)

    def _place(self, numbers: Numbers) -> Steps:
        """Puts regions under others, or advertises them, some at a time."""
        steps = [self._withdrawing([])]
        for start in range(0, len(numbers), _AT_ONCE):
            steps.append(self._place_some(numbers[start : start + _AT_ONCE]))
        return Steps.concat(steps)

    def _place_some(self, numbers: Numbers) -> Steps:
        regions = self._kept.take(numbers)
        over = self._active.covering(regions)
        self._absorbers.set(numbers, over)
        left = np.flatnonzero(over < 0)
        numbers, regions = numbers[left], regions.take(left)
        under = maximal(regions)
        self._absorbers.set(numbers, numbers[under])
        tops = np.flatnonzero(under == np.arange(len(under)))
        numbers, regions = numbers[tops], regions.take(tops)
        return Steps(regions, numbers, self._put_under(self._active.add(numbers)))

    def _put_under(self, under: Under) -> Numbers:
        """Notes what was found to be under others; gives what is to be withdrawn for it."""
        covered, by = under
        self._absorbers.set(covered, by)
        return covered

    def _living(self) -> Numbers:
        return np.flatnonzero(self._owners.values[: len(self._kept)] >= 0)

    def _roots(self) -> Numbers:
        """For each region the one at the top of those it is under."""
        roots = self._absorbers.values[: len(self._kept)]
        while not np.array_equal(above := roots[roots], roots):
            roots = above
        return roots

    def _withdrawing(self, numbers: ArrayLike) -> Steps:
        nothing = Regions(self.space, 0, {})
        return Steps(nothing, np.empty(0, np.int64), np.asarray(numbers, np.int64))
