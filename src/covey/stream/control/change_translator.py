"""Translation of subscription changes to store changes: each region gets a validity interval.

A changed or cancelled subscription stays in the store: its old regions are valid until the change,
and its new regions from the change on. So each event of a backlog is matched with the subscriptions
that were valid at its time. Regions are dropped when no event from their validity interval can
arrive any more. The revision of a subscription stays in the store too, so that a late change with a
lower revision is ignored.
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
_MARKER_OFFSET_US = 1  # after a whole millisecond; times of events are whole milliseconds


@dataclass(frozen=True, slots=True)
class TranslatedChanges:
    """Result of a translation: changes for the store, and changes that could not be read.

    Args:
        store_changes: upserts; each has all regions of its subscription, old and new.
        unreadable_changes: changes without an id or with an unreadable value or predicate; the
            field `problem` of each has the reason.
        num_ignored: number of changes ignored because their subscription already had an equal or
            higher revision.
        unanalysed_expressions: expressions whose types Spark must analyse first. If there are any,
            `store_changes` lacks the regions of the predicates that compare them.
    """

    store_changes: Changes
    unreadable_changes: tuple[SubscriptionChange, ...]
    num_ignored: int
    unanalysed_expressions: tuple[str, ...] = ()


@dataclass(slots=True)
class ChangeTranslator:
    """Translator of subscription changes to changes of a store.

    Args:
        clock_skew_ms: a predicate is valid from this many milliseconds before its change was
            appended, because the clocks of Kafka servers differ.
        types: types of expressions as Spark's analyzer reports them; None if no predicate contains
            an expression whose type only Spark knows.
        time_zones: time zones of Spark's Java, which a stored space does not contain.
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
        """Translate subscription changes to changes of a snapshot.

        Args:
            snapshot: version to which the changes will be applied.
            subscription_changes: changes in the order of the control topic.
            horizon_us: time in microseconds since 1970, before which no event can arrive any more;
                old regions that ended before it are dropped.

        Cost: a binary search per id and segment, and parsing of each predicate.
        """
        without_id = [change for change in subscription_changes if not change.subscription_id]
        by_id: dict[str, list[SubscriptionChange]] = {}
        for change in subscription_changes:
            if change.subscription_id:
                by_id.setdefault(change.subscription_id, []).append(change)
        changed_ids = list(by_id)
        rows = snapshot.find_rows(pa.array(changed_ids, pa.large_string()))
        revisions = np.zeros(len(changed_ids), np.int64)
        revisions[rows >= 0] = snapshot.take_revisions(rows[rows >= 0])
        ids: list[str] = []
        stored_rows, stored_subscription_rows = [], []
        highest_revisions, first_ms, last_ms = [], [], []
        effective_changes = _EffectiveChanges([], [], [])
        for id, row, revision in zip(changed_ids, rows.tolist(), revisions.tolist(), strict=True):
            effective, revision = _select_effective(by_id[id], revision)
            if effective:
                if row >= 0:
                    stored_rows.append(row)
                    stored_subscription_rows.append(len(ids))
                effective_changes.append_changes(len(ids), effective)
                ids.append(id)
                highest_revisions.append(revision)
                first_ms.append(min(change.appended_ms for change in effective))
                last_ms.append(effective[-1].appended_ms)
        ended_regions, ended_rows = _end_old_regions(
            snapshot,
            np.array(stored_rows, np.int64),
            np.array(stored_subscription_rows, np.int64),
            first_ms,
        )
        old_regions, old_rows = _drop_expired_regions(ended_regions, ended_rows, horizon_us)
        new_regions, new_rows, unreadable, unanalysed = self._build_new_regions(
            snapshot.space, effective_changes
        )
        regions = Regions.concat([old_regions, new_regions])
        subscription_rows = np.concatenate([old_rows, new_rows])
        marker_times_us = np.array(last_ms, np.int64) * 1000 + _MARKER_OFFSET_US
        marked_rows = np.flatnonzero(
            find_last_ends(regions, subscription_rows, len(ids))
            < marker_times_us - _MARKER_OFFSET_US - 1
        )
        markers = _build_revision_markers(snapshot.space, marker_times_us[marked_rows])
        regions = Regions.concat([regions, markers])
        subscription_rows = np.concatenate([subscription_rows, marked_rows])
        changes = Changes(
            pa.array(ids, pa.large_string()), regions, subscription_rows,
            revisions=np.array(highest_revisions, np.int64),
        )  # fmt: skip
        num_ignored = len(subscription_changes) - len(without_id) - len(effective_changes.changes)
        return TranslatedChanges(changes, (*without_id, *unreadable), num_ignored, unanalysed)

    def _build_new_regions(
        self, space: Space, effective_changes: _EffectiveChanges
    ) -> tuple[Regions, Rows, list[SubscriptionChange], tuple[str, ...]]:
        """Build the regions of new predicates, with their validity intervals.

        Returns:
            The regions, for each region the row of its subscription among the changed ones, the
            changes that could not be read, and the expressions whose types are not known.
        """
        unreadable = [change for change in effective_changes.changes if change.problem is not None]
        upserts = effective_changes.with_predicates()
        settings = space.settings.with_time_zones(self.time_zones)
        predicate_space = replace(without_validity(space), settings=settings)
        if self._parser is None or self._parser.space != predicate_space:
            self._parser = Parser(predicate_space, types=self.types)
        parsed = self._parser.parse([change.predicate or "" for change in upserts.changes])
        for row, error in sorted(parsed.rejected.items()):
            unreadable.append(upserts.changes[row]._replace(problem=str(error)))
        from_us = [self._compute_start_ms(change) * 1000 for change in upserts.changes]
        to_us = list(map(_compute_end_us, upserts.changes, upserts.ends_ms))
        predicate_rows, count = parsed.predicate_rows, len(parsed.regions)
        lower = np.array(from_us, np.int64)[predicate_rows]
        upper = np.array(to_us, np.int64)[predicate_rows] - 1
        constraints = dict(parsed.regions.constraints)
        constraints[VALIDITY] = Constraints(
            np.arange(count), Scalars.from_intervals(_TIMESTAMP_DOMAIN, lower, upper)
        )
        extended_space = replace(space, derived=parsed.space.derived)
        regions, region_rows = Regions.from_constraints(extended_space, count, constraints)
        subscription_rows = np.array(upserts.subscription_rows, np.int64)
        unanalysed = tuple(chain.from_iterable(parsed.missing_types.values()))
        return regions, subscription_rows[predicate_rows[region_rows]], unreadable, unanalysed

    def _compute_start_ms(self, change: SubscriptionChange) -> int:
        earliest_ms = change.appended_ms - self.clock_skew_ms
        return earliest_ms if change.from_ms is None else max(earliest_ms, change.from_ms)


class _EffectiveChanges(NamedTuple):
    """Changes that are not ignored, each with its subscription and the time when its effect ends.

    The effect of a change ends at the earliest append time of the later changes of its
    subscription, usually at that of the next change. If the clocks of Kafka servers differ, a
    change may have an earlier append time than the change before it on the topic. It then takes
    effect from its own, earlier append time on.

    Args:
        subscription_rows: for each change, the row of its subscription among the changed ones.
        changes: the changes.
        ends_ms: for each change, the end of its effect in milliseconds since 1970; None if there is
            no later change.
    """

    subscription_rows: list[int]
    changes: list[SubscriptionChange]
    ends_ms: list[int | None]

    def append_changes(self, subscription_row: int, changes: Sequence[SubscriptionChange]) -> None:
        """Append changes of one subscription, which must be in the order of the topic."""
        ends: list[int | None] = [None]
        for change in changes[:0:-1]:
            end = ends[-1]
            ends.append(change.appended_ms if end is None else min(end, change.appended_ms))
        self.subscription_rows.extend([subscription_row] * len(changes))
        self.changes.extend(changes)
        self.ends_ms.extend(reversed(ends))

    def with_predicates(self) -> _EffectiveChanges:
        """Return the changes with a predicate; cancellations and unreadable changes have none."""
        if all(change.predicate is not None for change in self.changes):
            return self
        rows = [i for i, change in enumerate(self.changes) if change.predicate is not None]
        return _EffectiveChanges(*([column[i] for i in rows] for column in self))  # type: ignore[arg-type]


def _select_effective(
    changes: Sequence[SubscriptionChange], revision: int
) -> tuple[Sequence[SubscriptionChange], int]:
    """Return the changes of one subscription that are not ignored, and its new highest revision.

    A change with a revision is ignored if the stored `revision`, or the revision of an earlier
    change, is equal or higher. A change without a revision has revision 0 and is never ignored.
    """
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
    """Return the stored regions of changed subscriptions, whose validity ends at the first change.

    A region that ends earlier keeps its end. Regions that would not be valid at any time are left
    out. Revision markers are left out too, because new markers are built where necessary.

    Args:
        snapshot: version with the stored regions.
        stored_rows: row numbers in the snapshot of the stored subscriptions that change.
        subscription_rows: for each stored row the row of its subscription among the changed ones.
        first_change_ms: for each subscription that changes the earliest append time of its changes.

    Returns:
        The regions, and for each region the row of its subscription among the changed ones.
    """
    regions, row_indices = snapshot.take_regions(stored_rows)
    region_subscriptions = subscription_rows[row_indices]
    last_us = np.array(first_change_ms, np.int64)[region_subscriptions] * 1000 - 1
    validity = regions.gather_constraints(regions.space[VALIDITY], np.arange(len(regions)))
    assert isinstance(validity, Scalars)
    last_us[validity.lower % 1000 == _MARKER_OFFSET_US] = _TIMESTAMP_DOMAIN.low
    before_change = Scalars.from_intervals(
        _TIMESTAMP_DOMAIN, np.full(len(last_us), _TIMESTAMP_DOMAIN.low), last_us
    )
    constraints = dict(regions.constraints)
    constraints[VALIDITY] = Constraints(np.arange(len(regions)), validity.intersect(before_change))
    regions, region_rows = Regions.from_constraints(regions.space, len(regions), constraints)
    return regions, region_subscriptions[region_rows]


def _drop_expired_regions(
    regions: Regions, subscription_rows: Rows, horizon_us: int
) -> tuple[Regions, Rows]:
    if VALIDITY not in regions.constraints:
        return regions, subscription_rows
    validity = regions.constraints[VALIDITY].batch
    assert isinstance(validity, Scalars)
    region_rows = np.flatnonzero(validity.upper >= horizon_us)
    return (
        (regions, subscription_rows)
        if len(region_rows) == len(subscription_rows)
        else (regions.take(region_rows), subscription_rows[region_rows])
    )


def find_last_ends(
    regions: Regions, subscription_rows: NDArray[np.integer[Any]], count: int
) -> Rows:
    """Return for each subscription when the last of its regions ends, in microseconds since 1970.

    Args:
        regions: regions with validity intervals.
        subscription_rows: for each region its subscription, from 0 to `count` - 1.
        count: number of subscriptions.

    Returns:
        The last microsecond at which a region of the subscription is valid; the lowest timestamp
        for a subscription without regions.
    """
    validity = regions.gather_constraints(regions.space[VALIDITY], np.arange(len(regions)))
    assert isinstance(validity, Scalars)
    ends = np.full(count, _TIMESTAMP_DOMAIN.low, np.int64)
    np.maximum.at(ends, subscription_rows, validity.upper)
    return ends


def _build_revision_markers(space: Space, times_us: Rows) -> Regions:
    """Build revision markers: regions that match no event, each valid for one microsecond.

    A marker keeps the revision of its subscription in the store until the marker expires. No event
    matches it, because its microsecond lies between two milliseconds, and times of events are whole
    milliseconds.
    """
    validity = Constraints(
        np.arange(len(times_us)), Scalars.from_intervals(_TIMESTAMP_DOMAIN, times_us, times_us)
    )
    return Regions(space, len(times_us), {VALIDITY: validity} if len(times_us) else {})
