"""The table of one link: adds and cancels in, what must be advertised and withdrawn out.

The table knows which regions are whose; what is advertised for them is its strategy's to say. After
a restart a table is restored from a snapshot of the store that has all subscriptions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, Literal, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey._argument_checks import (
    as_numeric_array,
    check_arguments,
    check_range,
    check_rows,
    format_value,
)
from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.geometry.range_sets import RangeSet
from covey.routing.growable_array import GrowableArray
from covey.routing.id_spans import IdSpans
from covey.routing.region_log import RegionLog
from covey.routing.strategies import (
    STRATEGIES,
    AdvertisedT,
    RegionStrategyName,
    RoutingStrategy,
    StrategyBuilder,
    find_strategy,
)
from covey.routing.updates import CellUpdate, RegionUpdate, RoutingUpdate
from covey.space import Events, Space
from covey.store import Snapshot
from covey.store.changes import check_same_space, check_subscription_rows

__all__ = ["AnyRoutingTable", "RegionRoutingTable", "RoutingTable"]

Numbers = NDArray[np.int64]
UpdateT = TypeVar("UpdateT", bound=RoutingUpdate)


class RoutingTable(Generic[AdvertisedT, UpdateT]):
    """Subscriptions that came from everywhere but one link, and what was advertised on that link.

    A table is generic over what is advertised, and over its updates: numbers of regions and
    `RegionUpdate`, or ranges of cells and `CellUpdate`.

    Guarantee: who applies all updates in their order has advertised, at every moment, a superset of
    what lives. Strategies: "exact", "projection" and "hybrid" advertise regions (`RegionUpdate`),
    "hilbert" ranges of cells (`CellUpdate`), which is more than was subscribed to; or a function
    that makes one. `recommend_strategy` says which suits some regions.

    Cost: that of the strategy; an id and its regions are kept as long as the table is.

    >>> import pyarrow as pa
    >>> from covey import parse
    >>> space = Space.from_types({"price": pa.float64()})
    >>> table, alerts = RoutingTable(space), parse(space, ["price > 5", "price > 7"])
    >>> table.add(["ann", "bob"], alerts.regions, alerts.predicate_rows).advertised.tolist()
    [0]
    >>> table.find_absorbers("bob")
    ('ann',)
    """

    @overload
    def __init__(
        self: RoutingTable[Numbers, RegionUpdate],
        space: Space,
        strategy: RegionStrategyName = "exact",
        *,
        first_number: int = 0,
    ) -> None: ...

    @overload
    def __init__(
        self: RoutingTable[RangeSet, CellUpdate],
        space: Space,
        strategy: Literal["hilbert"],
        *,
        first_number: int = 0,
    ) -> None: ...

    @overload
    def __init__(
        self,
        space: Space,
        strategy: StrategyBuilder[AdvertisedT, UpdateT],
        *,
        first_number: int = 0,
    ) -> None: ...

    @overload
    def __init__(
        self: RoutingTable[Numbers | RangeSet, RegionUpdate | CellUpdate],
        space: Space,
        strategy: str,
        *,
        first_number: int = 0,
    ) -> None: ...

    @check_arguments
    def __init__(
        self,
        space: Space,
        strategy: str | Callable[[RegionLog], RoutingStrategy[Any, Any]] = "exact",
        *,
        first_number: int = 0,
    ) -> None:
        """A table without subscriptions, whose regions are numbered from `first_number` on."""
        check_range("first_number", first_number, 0)
        self.space = space
        self._region_log = RegionLog(space, first_number)
        build: Callable[[RegionLog], Any] = (
            find_strategy(strategy, STRATEGIES) if isinstance(strategy, str) else strategy
        )
        self.strategy: RoutingStrategy[AdvertisedT, UpdateT] = build(self._region_log)
        """What decides; `admits` and `advertised_set` are its answers."""
        self._id_spans = IdSpans()
        self._id_rows = GrowableArray(-1)
        self._ids: list[Hashable] = []

    @overload
    @classmethod
    @check_arguments
    def from_snapshot(
        cls, snapshot: Snapshot, known: Numbers, *, strategy: RegionStrategyName = "exact"
    ) -> tuple[RoutingTable[Numbers, RegionUpdate], RegionUpdate]: ...

    @overload
    @classmethod
    def from_snapshot(
        cls, snapshot: Snapshot, known: RangeSet, *, strategy: Literal["hilbert"]
    ) -> tuple[RoutingTable[RangeSet, CellUpdate], CellUpdate]: ...

    @overload
    @classmethod
    def from_snapshot(
        cls,
        snapshot: Snapshot,
        known: AdvertisedT,
        *,
        strategy: StrategyBuilder[AdvertisedT, UpdateT],
    ) -> tuple[RoutingTable[AdvertisedT, UpdateT], UpdateT]: ...

    @overload
    @classmethod
    def from_snapshot(
        cls, snapshot: Snapshot, known: Numbers | RangeSet, *, strategy: str
    ) -> tuple[AnyRoutingTable, RegionUpdate | CellUpdate]: ...

    @classmethod
    def from_snapshot(
        cls,
        snapshot: Snapshot,
        known: Any,
        *,
        strategy: Any = "exact",
    ) -> tuple[RoutingTable[Any, Any], Any]:
        """A table of all subscriptions in a snapshot, and the update for a link that knows `known`.

        `known` is what the other side of the link has, as it says itself: numbers of regions, or
        ranges of cells. Who applies changes to a store first, then to the table, and tells a
        subscriber only when all updates are applied, loses nothing whenever it dies. Cost: adding
        all of them; numbers are new, so all that is advertised is advertised again, before what was
        known is withdrawn.
        """
        if not isinstance(known, RangeSet):
            known = as_numeric_array("known numbers", known, np.int64)
        if strategy == "hilbert" and len(known):
            raise InvalidArgumentError(
                "ranges of cells mean something in their grid only: give a function that makes a "
                "HilbertCellStrategy with the grid that the table had"
            )
        first = 0 if isinstance(known, RangeSet) else int(np.max(known, initial=-1)) + 1
        table: RoutingTable[Any, Any] = cls(snapshot.space, strategy, first_number=first)
        for segment in snapshot.live_segments:
            owned = segment.take_live()
            table.add(owned.ids.to_arrow().to_pylist(), owned.regions, owned.subscription_rows)
        return table, table.build_sync_update(known)

    def __len__(self) -> int:
        return len(self._id_spans)

    def __contains__(self, id_: Hashable) -> bool:
        return id_ in self._id_spans

    @property
    def advertised_set(self) -> AdvertisedT:
        """What is advertised: the numbers of regions, ascending, or ranges of cells."""
        return self.strategy.advertised_set

    @property
    def is_fully_withdrawn(self) -> bool:
        """Whether nothing is advertised any more that was cancelled."""
        return self.strategy.is_fully_withdrawn

    @check_arguments
    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Whether each event would be sent here by one who knows what is advertised."""
        return self.strategy.admits(events)

    @check_arguments
    def take_regions(self, numbers: Numbers) -> Regions:
        """Regions by number."""
        check_rows("numbers", numbers, self._region_log.next_number)
        return self._region_log.take(numbers)

    @check_arguments
    def add(
        self, ids: Sequence[Hashable], regions: Regions, subscription_rows: ArrayLike
    ) -> UpdateT:
        """Adds subscriptions: region r belongs to `ids[subscription_rows[r]]`.

        An id that is there is replaced.
        """
        if len(ids) > 1 and len(set(ids)) < len(ids):
            twice = next(id_ for id_, count in Counter(ids).items() if count > 1)
            raise InvalidArgumentError(
                f"id {twice!r} is in one batch twice: give its last change only"
            )
        check_same_space(regions.space, self.space, "table")
        subscription_rows = as_numeric_array("subscription_rows", subscription_rows, np.int64)
        check_subscription_rows(subscription_rows, len(regions), len(ids))
        if len(subscription_rows) > 1 and (np.diff(subscription_rows) < 0).any():
            order = np.argsort(subscription_rows, kind="stable")
            regions, subscription_rows = regions.take(order), subscription_rows[order]
        replaced = self._id_spans.pop(ids)
        numbers = self._region_log.append(regions)
        self._id_rows.set(numbers, subscription_rows + len(self._ids))
        self._ids.extend(ids)
        self._id_spans.insert(ids, int(numbers[0]) if len(numbers) else 0, subscription_rows)
        update = self.strategy.add(numbers, regions)
        if not len(replaced):
            return update
        return type(update).concat([update, self.strategy.remove(replaced)])

    @check_arguments
    def cancel(self, ids: Iterable[Hashable]) -> UpdateT:
        """Removes subscriptions; an id that is not there is no error.

        Where many regions were under what is removed, that stays advertised, and `reassign_orphans`
        does what is left, some of it with every call.
        """
        return self.strategy.remove(self._id_spans.pop(ids))

    @check_arguments
    def reassign_orphans(self, max_regions: int | None = None) -> UpdateT:
        """Finds other absorbers for regions, at most so many, that are under what was cancelled."""
        return self.strategy.reassign_orphans(max_regions)

    def prune(self) -> UpdateT:
        """Reassigns all orphans, and withdraws all that another advertised region covers.

        Adds and cancels do most of that by themselves. Cost: that of indexing all that is
        advertised. Adds of single subscriptions are fastest after it.
        """
        return self.strategy.prune()

    def build_sync_update(self, known: AdvertisedT) -> UpdateT:
        """The update for a link that knows something else: numbers, or ranges of cells.

        After a restart, or when a link was gone. Numbers mean the same regions only as long as a
        table lives: give the next one a `first_number` beyond all of them. `from_snapshot` does
        both.
        """
        return self.strategy.build_sync_update(known)

    @check_arguments
    def find_absorbers(self, id_: Hashable) -> tuple[Hashable, ...]:
        """The subscriptions whose advertised regions contain all of this one.

        None if it has an advertised region itself; an error if it is not there. Until all
        orphans are reassigned, a cancelled one may be among them.
        """
        if id_ not in self:
            raise InvalidArgumentError(f"the table has no subscription {format_value(id_)}")
        numbers, _ = self._id_spans.find_numbers([id_])
        over = self.strategy.find_absorbers(numbers)
        if not len(numbers) or np.isin(numbers, over.values).any():
            return ()
        return tuple(dict.fromkeys(self._ids[owner] for owner in self._id_rows.values[over.values]))

    def find_redundant(self) -> list[Hashable]:
        """The subscriptions of which nothing is advertised for their own sake, in their order.

        Those that match nothing are among them. The others are active. Cost: a pass over all.
        """
        ids = list(self._id_spans)
        numbers, _ = self._id_spans.find_numbers(ids)
        over = self.strategy.find_absorbers(numbers)
        own = np.repeat(numbers, over.lengths) == over.values
        active = {self._ids[owner] for owner in self._id_rows.values[over.values[own]]}
        return [id_ for id_ in ids if id_ not in active]


RegionRoutingTable = RoutingTable[Numbers, RegionUpdate]
"""A table that advertises regions."""

AnyRoutingTable = RoutingTable[Numbers | RangeSet, RegionUpdate | CellUpdate]
"""A table whose strategy is not known when types are checked."""
