"""Routing table of one link: takes changes of subscriptions, and returns updates for the link.

The table knows the regions of each subscription; its strategy decides what is advertised for them.
After a restart, a table is restored from a snapshot of the store with all subscriptions.
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
    """All subscriptions that did not arrive on one link, and what is advertised for them on it.

    The type parameters are the type of what is advertised and that of the updates: numbers of
    regions and `RegionUpdate`, or ranges of cells and `CellUpdate`. If the link applies all updates
    in their order, the advertised regions or cells contain the regions of all live subscriptions at
    every moment.

    The strategies "exact", "projection" and "hybrid" advertise regions (`RegionUpdate`). "hilbert"
    advertises ranges of cells (`CellUpdate`), which may contain more events than the subscriptions.
    A function that builds a strategy is accepted as well. `recommend_strategy` recommends a
    strategy.

    Args:
        space: the space of the regions.
        strategy: the name of a strategy, or a function that builds one from a `RegionLog`.
        first_number: the number of the first region.

    Raises:
        InvalidArgumentError: if there is no such strategy, or `first_number` is negative.

    Cost: that of the strategy. Ids and regions, also those of cancelled subscriptions, remain in
    memory as long as the table exists.

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
        """Create a table without subscriptions; regions are numbered from `first_number` on."""
        check_range("first_number", first_number, 0)
        self.space = space
        self._region_log = RegionLog(space, first_number)
        build: Callable[[RegionLog], Any] = (
            find_strategy(strategy, STRATEGIES) if isinstance(strategy, str) else strategy
        )
        self.strategy: RoutingStrategy[AdvertisedT, UpdateT] = build(self._region_log)
        """The strategy, which decides what is advertised."""
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
        """Return a table of all subscriptions in a snapshot, and the first update for its link.

        A broker loses no change in a crash if it applies each change first to a store and then to
        the table, and confirms a change to a subscriber only when all updates are applied.

        Args:
            snapshot: an open version of a store, with all subscriptions of the table.
            known: what is advertised on the other side of the link, as that side reports it:
                numbers of regions, or ranges of cells.
            strategy: the name of a strategy, or a function that builds one from a `RegionLog`.

        Raises:
            InvalidArgumentError: if `strategy` is "hilbert" and `known` is not empty. Ranges of
                cells have a meaning only in their grid: pass a function that builds a
                `HilbertCellStrategy` with the grid of the earlier table.

        Cost: that of adding all subscriptions. If the strategy advertises regions, these have new
        numbers, so all are advertised again before the known numbers are withdrawn.
        """
        if not isinstance(known, RangeSet):
            known = as_numeric_array("known", known, np.int64)
        if strategy == "hilbert" and len(known):
            raise InvalidArgumentError(
                'with strategy "hilbert", known must be empty, because ranges of cells have a '
                "meaning only in their grid: pass as strategy a function that builds a "
                "HilbertCellStrategy with the grid of the earlier table"
            )
        first = 0 if isinstance(known, RangeSet) else int(np.max(known, initial=-1)) + 1
        table: RoutingTable[Any, Any] = cls(snapshot.space, strategy, first_number=first)
        for segment in snapshot.live_segments:
            batch = segment.take_live()
            table.add(batch.ids.values.to_pylist(), batch.regions, batch.subscription_rows)
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
        """True if nothing is advertised any more for cancelled subscriptions."""
        return self.strategy.is_fully_withdrawn

    @check_arguments
    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Return for each event whether the advertised set contains it.

        The neighbour forwards exactly the events that the advertised set contains.
        """
        return self.strategy.admits(events)

    @check_arguments
    def take_regions(self, numbers: Numbers) -> Regions:
        """Return the regions with these numbers, in this order."""
        check_rows("numbers", numbers, self._region_log.next_number)
        return self._region_log.take(numbers)

    @check_arguments
    def add(
        self, ids: Sequence[Hashable], regions: Regions, subscription_rows: ArrayLike
    ) -> UpdateT:
        """Add subscriptions, or replace those whose ids are in the table.

        Args:
            ids: the ids, each once.
            regions: the regions of all these subscriptions.
            subscription_rows: region r belongs to `ids[subscription_rows[r]]`.

        Returns:
            The update for the link.

        Raises:
            InvalidArgumentError: if an id occurs more than once, or `subscription_rows` does not
                have a row of `ids` for each region.
            SchemaError: if the space of the regions is not that of the table.
        """
        if len(ids) > 1 and len(set(ids)) < len(ids):
            twice = next(id_ for id_, count in Counter(ids).items() if count > 1)
            raise InvalidArgumentError(
                f"id {twice!r} occurs twice in one batch: give only its last change"
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
        """Remove subscriptions; unknown ids are ignored. Return the update for the link.

        If a removed region absorbs many other regions, it remains advertised until later calls of
        `cancel`, `reassign_orphans` or `prune` have found other absorbers for these.
        """
        return self.strategy.remove(self._id_spans.pop(ids))

    @check_arguments
    def reassign_orphans(self, max_regions: int | None = None) -> UpdateT:
        """Find other absorbers for orphans: live regions whose absorber was removed.

        Args:
            max_regions: the largest number of orphans to reassign; None for all.

        Returns:
            The update for the link.
        """
        return self.strategy.reassign_orphans(max_regions)

    def prune(self) -> UpdateT:
        """Reassign all orphans, and withdraw each region that another advertised region covers.

        Return the update for the link. `add` and `cancel` already do most of this. Adds of single
        subscriptions are fastest afterwards. Cost: an index of all advertised regions.
        """
        return self.strategy.prune()

    def build_sync_update(self, known: AdvertisedT) -> UpdateT:
        """Return the update after which exactly `advertised_set` is advertised on the link.

        A link needs it after a restart or an interruption. Numbers identify regions only within one
        table: after a restart, the new table needs a `first_number` above all numbers of the
        earlier one. `from_snapshot` builds such a table and returns this update.

        Args:
            known: what is advertised on the other side of the link: numbers of regions, or ranges
                of cells.
        """
        return self.strategy.build_sync_update(known)

    @check_arguments
    def find_absorbers(self, id_: Hashable) -> tuple[Hashable, ...]:
        """Return the ids of the subscriptions that make subscription `id_` redundant.

        Their advertised regions or cells contain all regions of subscription `id_`. The result is
        empty if a region of the subscription must be advertised itself, or if it has no region.
        Until all orphans are reassigned, a cancelled subscription may be in the result.

        Raises:
            InvalidArgumentError: if the table has no such subscription.
        """
        if id_ not in self:
            raise InvalidArgumentError(
                f"the routing table has no subscription {format_value(id_)}: pass the id of a "
                "subscription that was added and not cancelled"
            )
        numbers, _ = self._id_spans.find_numbers([id_])
        absorbers = self.strategy.find_absorbers(numbers)
        if not len(numbers) or np.isin(numbers, absorbers.values).any():
            return ()
        return tuple(
            dict.fromkeys(self._ids[owner] for owner in self._id_rows.values[absorbers.values])
        )

    def find_redundant(self) -> list[Hashable]:
        """Return the ids of the redundant subscriptions, in the order in which they were added.

        A subscription is redundant if none of its regions is its own absorber. So a subscription
        that matches no event is redundant. All other subscriptions are active.

        Cost: a pass over all regions.
        """
        ids = list(self._id_spans)
        numbers, _ = self._id_spans.find_numbers(ids)
        absorbers = self.strategy.find_absorbers(numbers)
        is_own = np.repeat(numbers, absorbers.lengths) == absorbers.values
        active = {self._ids[owner] for owner in self._id_rows.values[absorbers.values[is_own]]}
        return [id_ for id_ in ids if id_ not in active]


RegionRoutingTable = RoutingTable[Numbers, RegionUpdate]
"""Routing table that advertises regions."""

AnyRoutingTable = RoutingTable[Numbers | RangeSet, RegionUpdate | CellUpdate]
"""Routing table of any strategy, for code in which a type checker does not know the strategy."""
