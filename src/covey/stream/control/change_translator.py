"""What changes make of subscriptions: each predicate has the lifetime in which it counted.

A subscription that is changed or cancelled is not gone: until events of that time cannot come any
more, it has its old regions up to that moment, and the new ones from it on. So a backlog is matched
against who was subscribed then, and a late change of a lower revision finds the higher one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.regions import Constraints
from covey.geometry.scalars import Scalars
from covey.language import Parser
from covey.language.semantics import ExpressionTypes
from covey.space import Space
from covey.space.keys import key_domain
from covey.space.time_zones import TimeZones
from covey.space.types import TIMESTAMP
from covey.spark.validity import VALIDITY, without_validity
from covey.store import Changes, Snapshot
from covey.stream.control.messages import SubscriptionChange

__all__ = ["ChangeTranslator", "TranslatedChanges", "find_last_ends"]

Rows = NDArray[np.int64]
_TIMESTAMP_DOMAIN = key_domain(TIMESTAMP)
_MARKER_OFFSET_US = 1  # after a millisecond, where no event is


@dataclass(frozen=True, slots=True)
class TranslatedChanges:
    """The changes of a store that some messages are, and those that could not be read.

    `ignored_changes` counts what an equal or higher revision had overtaken.
    """

    store_changes: Changes
    unreadable_changes: tuple[SubscriptionChange, ...]
    num_ignored: int
    unanalysed_expressions: tuple[str, ...] = ()
    """Expressions whose types must be known first; some predicates have no region then."""


@dataclass(slots=True)
class ChangeTranslator:
    """Turns messages into changes of a store.

    `clock_skew_ms` is by how much a predicate counts earlier than its change was appended, since
    the clocks of brokers differ. `types` knows what Spark says of expressions, and `time_zones`
    are those of Spark's Java, which a snapshot does not have.
    """

    clock_skew_ms: int
    types: ExpressionTypes | None = None
    time_zones: TimeZones | None = None
    _parser: Parser | None = None

    def translate(
        self,
        snapshot: Snapshot,
        subscription_changes: Sequence[SubscriptionChange],
        horizon_us: int,
    ) -> TranslatedChanges:
        """The changes of all given messages, which are in the log's order.

        Regions that ended before the horizon are left out: no event of that time can come.

        Cost: a binary search per id and segment, and a parse per predicate.
        """
        nobodys = [change for change in subscription_changes if not change.subscription_id]
        by_id: dict[str, list[SubscriptionChange]] = {}
        for change in subscription_changes:
            if change.subscription_id:
                by_id.setdefault(change.subscription_id, []).append(change)
        asked = list(by_id)
        rows = snapshot.find_rows(pa.array(asked, pa.large_string()))
        revisions = np.zeros(len(asked), np.int64)
        revisions[rows >= 0] = snapshot.take_revisions(rows[rows >= 0])
        ids: list[str] = []
        known, owned, highest, first, last = [], [], [], [], []
        counted = _EffectiveChanges([], [], [])
        for id, row, revision in zip(asked, rows.tolist(), revisions.tolist(), strict=True):
            effective, revision = _select_effective(by_id[id], revision)
            if effective:
                if row >= 0:
                    known.append(row)
                    owned.append(len(ids))
                counted.append_changes(len(ids), effective)
                ids.append(id)
                highest.append(revision)
                first.append(min(change.appended_ms for change in effective))
                last.append(effective[-1].appended_ms)
        old = _end_old_regions(
            snapshot, np.array(known, np.int64), np.array(owned, np.int64), first
        )
        old_regions, old_of = _drop_expired_regions(*old, horizon_us)
        new_regions, new_of, unreadable, unanalysed = self._build_new_regions(
            snapshot.space, counted
        )
        regions = Regions.concat([old_regions, new_regions])
        of = np.concatenate([old_of, new_of])
        moments = np.array(last, np.int64) * 1000 + _MARKER_OFFSET_US
        over = np.flatnonzero(
            find_last_ends(regions, of, len(ids)) < moments - _MARKER_OFFSET_US - 1
        )
        marks = _build_revision_markers(snapshot.space, moments[over])
        regions, of = Regions.concat([regions, marks]), np.concatenate([of, over])
        changes = Changes(
            pa.array(ids, pa.large_string()), regions, of,
            revisions=np.array(highest, np.int64),
        )  # fmt: skip
        ignored = len(subscription_changes) - len(nobodys) - len(counted.changes)
        return TranslatedChanges(changes, (*nobodys, *unreadable), ignored, unanalysed)

    def _build_new_regions(
        self, space: Space, effective_changes: _EffectiveChanges
    ) -> tuple[Regions, Rows, list[SubscriptionChange], tuple[str, ...]]:
        """The regions of new predicates, each with its lifetime, and whose they are."""
        unreadable = [change for change in effective_changes.changes if change.problem is not None]
        put = effective_changes.with_predicates()
        settings = space.settings.with_time_zones(self.time_zones)
        predicate_space = replace(without_validity(space), settings=settings)
        if self._parser is None or self._parser.space != predicate_space:
            self._parser = Parser(predicate_space, types=self.types)
        parsed = self._parser.parse([change.predicate or "" for change in put.changes])
        for row, error in sorted(parsed.rejected.items()):
            unreadable.append(put.changes[row]._replace(problem=str(error)))
        from_us = [self._compute_start_ms(change) * 1000 for change in put.changes]
        to_us = list(map(_compute_end_us, put.changes, put.ends_ms))
        of, count = parsed.predicate_rows, len(parsed.regions)
        lower = np.array(from_us, np.int64)[of]
        upper = np.array(to_us, np.int64)[of] - 1
        given = dict(parsed.regions.constraints)
        given[VALIDITY] = Constraints(
            np.arange(count), Scalars.from_intervals(_TIMESTAMP_DOMAIN, lower, upper)
        )
        whole = replace(space, derived=parsed.space.derived)
        regions, kept = Regions.from_constraints(whole, count, given)
        owners = np.array(put.subscription_rows, np.int64)
        unanalysed = tuple(chain.from_iterable(parsed.missing_types.values()))
        return regions, owners[of[kept]], unreadable, unanalysed

    def _compute_start_ms(self, change: SubscriptionChange) -> int:
        began = change.appended_ms - self.clock_skew_ms
        return began if change.from_ms is None else max(began, change.from_ms)


class _EffectiveChanges(NamedTuple):
    """Changes that count: whose they are, and when a later one of the same subscription ends them.

    That is the next, unless clocks of brokers differ: what comes later on the topic counts from its
    time on, even if that is earlier.
    """

    subscription_rows: list[int]
    changes: list[SubscriptionChange]
    ends_ms: list[int | None]

    def append_changes(self, subscription_row: int, changes: Sequence[SubscriptionChange]) -> None:
        """Those of one subscription, in the log's order."""
        ends: list[int | None] = [None]
        for change in changes[:0:-1]:
            end = ends[-1]
            ends.append(change.appended_ms if end is None else min(end, change.appended_ms))
        self.subscription_rows.extend([subscription_row] * len(changes))
        self.changes.extend(changes)
        self.ends_ms.extend(reversed(ends))

    def with_predicates(self) -> _EffectiveChanges:
        """Those that do not cancel."""
        if all(change.predicate is not None for change in self.changes):
            return self
        put = [i for i, change in enumerate(self.changes) if change.predicate is not None]
        return _EffectiveChanges(*([column[i] for i in put] for column in self))  # type: ignore[arg-type]


def _select_effective(
    changes: Sequence[SubscriptionChange], revision: int
) -> tuple[Sequence[SubscriptionChange], int]:
    """The changes of one subscription that count, and its highest revision then."""
    if len(changes) == 1 and changes[0].revision == 0:
        return changes, revision
    effective = []
    for change in changes:
        if change.revision == 0 or change.revision > revision:
            effective.append(change)
            revision = max(revision, change.revision)
    return effective, revision


def _compute_end_us(change: SubscriptionChange, end_ms: int | None) -> int:
    ends = [end for end in (change.to_ms, end_ms) if end is not None]
    return min(ends) * 1000 if ends else int(_TIMESTAMP_DOMAIN.high)


def _end_old_regions(
    snapshot: Snapshot, stored_rows: Rows, subscription_rows: Rows, first_change_ms: Sequence[int]
) -> tuple[Regions, Rows]:
    """The regions that changed subscriptions had, up to their first change; and whose they are.

    Marks of earlier changes are no longer needed.
    """
    regions, of = snapshot.take_regions(stored_rows)
    owner = subscription_rows[of]
    until = np.array(first_change_ms, np.int64)[owner] * 1000 - 1
    lifetime = regions.gather_constraints(regions.space[VALIDITY], np.arange(len(regions)))
    assert isinstance(lifetime, Scalars)
    until[lifetime.lower % 1000 == _MARKER_OFFSET_US] = _TIMESTAMP_DOMAIN.low
    before = Scalars.from_intervals(
        _TIMESTAMP_DOMAIN, np.full(len(until), _TIMESTAMP_DOMAIN.low), until
    )
    given = dict(regions.constraints)
    given[VALIDITY] = Constraints(np.arange(len(regions)), lifetime.intersect(before))
    regions, kept = Regions.from_constraints(regions.space, len(regions), given)
    return regions, owner[kept]


def _drop_expired_regions(
    regions: Regions, subscription_rows: Rows, horizon_us: int
) -> tuple[Regions, Rows]:
    if VALIDITY not in regions.constraints:
        return regions, subscription_rows
    lifetime = regions.constraints[VALIDITY].batch
    assert isinstance(lifetime, Scalars)
    kept = np.flatnonzero(lifetime.upper >= horizon_us)
    return (
        (regions, subscription_rows)
        if len(kept) == len(subscription_rows)
        else (regions.take(kept), subscription_rows[kept])
    )


def find_last_ends(
    regions: Regions, subscription_rows: NDArray[np.integer[Any]], count: int
) -> Rows:
    """When the last region of each subscription ends; of one that has none, before all times."""
    lifetime = regions.gather_constraints(regions.space[VALIDITY], np.arange(len(regions)))
    assert isinstance(lifetime, Scalars)
    ends = np.full(count, _TIMESTAMP_DOMAIN.low, np.int64)
    np.maximum.at(ends, subscription_rows, lifetime.upper)
    return ends


def _build_revision_markers(space: Space, times_us: Rows) -> Regions:
    """Regions that match nothing, and keep revisions as long as a region that ended just now.

    Events have whole milliseconds: a lifetime between two of them contains none.
    """
    lifetime = Constraints(
        np.arange(len(times_us)), Scalars.from_intervals(_TIMESTAMP_DOMAIN, times_us, times_us)
    )
    return Regions(space, len(times_us), {VALIDITY: lifetime} if len(times_us) else {})
