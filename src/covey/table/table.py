"""The table of one link: adds and cancels in, what must be advertised and withdrawn out.

The table knows which regions are whose; what is advertised for them is its strategy's to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.errors import ValueRefused
from covey.geometry import Regions
from covey.space import Events, Space
from covey.store.changes import check_owners, check_space
from covey.table.grown import Grown
from covey.table.kept import Kept
from covey.table.spans import Spans
from covey.table.strategies import Choice, chosen

__all__ = ["Table"]

Numbers = NDArray[np.int64]


class Table:
    """Subscriptions that came from everywhere but one link, and what was advertised on that link.

    Guarantee: who carries out all steps in their order has advertised, at every moment, a superset
    of what lives. Strategies: "exact", "projection" and "hybrid" advertise regions (`Steps`),
    "hilbert" ranges of cells (`CellSteps`), which is more than was subscribed to; or a function
    that makes one. `choose` says which suits some regions.

    Cost: that of the strategy; an id and its regions are kept as long as the table is.

    >>> import pyarrow as pa
    >>> from covey import parse
    >>> space = Space.of({"price": pa.float64()})
    >>> table, alerts = Table(space), parse(space, ["price > 5", "price > 7"])
    >>> table.add(["ann", "bob"], alerts.regions, alerts.of).advertised.tolist()
    [0]
    >>> table.absorbed_by("bob")
    ('ann',)
    """

    def __init__(self, space: Space, strategy: Choice = "exact", first: int = 0) -> None:
        """A table without subscriptions, whose regions are numbered from `first` on."""
        self.space = space
        self._kept = Kept(space, first)
        self.strategy = chosen(strategy, self._kept)
        """What decides; `admits` and `advertised` are its answers."""
        self._spans = Spans()
        self._owners = Grown(-1)
        self._ids: list[Hashable] = []

    def __len__(self) -> int:
        return len(self._spans)

    def __contains__(self, id_: Hashable) -> bool:
        return id_ in self._spans

    @property
    def advertised(self) -> Any:
        """What is advertised: the numbers of regions, ascending, or ranges of cells."""
        return self.strategy.advertised

    @property
    def is_settled(self) -> bool:
        """Whether nothing is advertised any more that was cancelled."""
        return self.strategy.is_settled

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Whether each event would be sent here by one who knows what is advertised."""
        return self.strategy.admits(events)

    def regions(self, numbers: Numbers) -> Regions:
        """Regions by number."""
        return self._kept.take(numbers)

    def add(self, ids: Sequence[Hashable], regions: Regions, of: Numbers) -> Any:
        """Adds subscriptions: region r belongs to `ids[of[r]]`. An id that is there is replaced."""
        if len(ids) > 1 and len(set(ids)) < len(ids):
            twice = next(id_ for id_, count in Counter(ids).items() if count > 1)
            raise ValueRefused(f"id {twice!r} is in one batch twice: give its last change only")
        check_space(regions.space, self.space, "table")
        of = np.asarray(of, np.int64)
        check_owners(of, len(regions), len(ids))
        if len(of) > 1 and (np.diff(of) < 0).any():
            order = np.argsort(of, kind="stable")
            regions, of = regions.take(order), of[order]
        replaced = self._spans.pop(ids)
        numbers = self._kept.add(regions)
        self._owners.set(numbers, of + len(self._ids))
        self._ids.extend(ids)
        self._spans.put(ids, int(numbers[0]) if len(numbers) else 0, of)
        steps = self.strategy.add(numbers, regions)
        if not len(replaced):
            return steps
        return type(steps).concat([steps, self.strategy.remove(replaced)])

    def cancel(self, ids: Iterable[Hashable]) -> Any:
        """Removes subscriptions; an id that is not there is no error.

        Where many regions were under what is removed, that stays advertised, and `settle` does the
        rest, some of it with every call.
        """
        return self.strategy.remove(self._spans.pop(ids))

    def settle(self, most: int | None = None) -> Any:
        """Finds another place for regions, at most so many, that are under what was cancelled."""
        return self.strategy.settle(most)

    def tidy(self) -> Any:
        """Settles, and withdraws all that another advertised region covers.

        Adds and cancels do most of that by themselves. Cost: that of indexing all that is
        advertised. Adds of single subscriptions are fastest after it.
        """
        return self.strategy.tidy()

    def catch_up(self, known: Any) -> Any:
        """The steps for a link that knows something else: numbers, or ranges of cells.

        After a restart, or when a link was gone. Numbers mean the same regions only as long as a
        table lives: give the next one a `first` beyond all of them. `restored` does both.
        """
        return self.strategy.catch_up(known)

    def absorbed_by(self, id_: Hashable) -> tuple[Hashable, ...]:
        """The subscriptions whose advertised regions contain all of this one.

        None if it has an advertised region itself; a `KeyError` if it is not there. Until the table
        is settled, a cancelled one may be among them.
        """
        numbers, _ = self._spans.numbers([id_])
        over = self.strategy.absorbers(numbers)
        if not len(numbers) or np.isin(numbers, over.values).any():
            return ()
        return tuple(dict.fromkeys(self._ids[owner] for owner in self._owners.values[over.values]))

    def passive(self) -> list[Hashable]:
        """The subscriptions of which nothing is advertised for their own sake, in their order.

        Those that match nothing are among them. The others are active. Cost: a pass over all.
        """
        ids = list(self._spans)
        numbers, _ = self._spans.numbers(ids)
        over = self.strategy.absorbers(numbers)
        own = np.repeat(numbers, over.lengths) == over.values
        active = {self._ids[owner] for owner in self._owners.values[over.values[own]]}
        return [id_ for id_ in ids if id_ not in active]
