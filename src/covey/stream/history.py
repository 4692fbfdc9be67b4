"""What changes make of subscriptions: each predicate has the lifetime in which it counted.

A subscription that is changed or cancelled is not gone: until events of that time cannot come any
more, it has its old regions up to that moment, and the new ones from it on. So a backlog is matched
against who was subscribed then, and a late change of a lower revision finds the higher one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.regions import Constraints
from covey.geometry.scalars import Scalars
from covey.language import Parser
from covey.space import Space
from covey.space.keys import domain
from covey.space.types import TIMESTAMP
from covey.spark.lifetimes import LIFETIME, without_lifetime
from covey.store import Changes, Snapshot
from covey.stream.messages import Change

__all__ = ["Applied", "Historian"]

Rows = NDArray[np.int64]
_TIMES = domain(TIMESTAMP)
_MARK_US = 1  # after a millisecond, where no event is


@dataclass(frozen=True, slots=True)
class Applied:
    """The changes of a store that some messages are, and those that could not be read.

    `ignored` counts what an equal or higher revision had overtaken.
    """

    changes: Changes
    unreadable: tuple[Change, ...]
    ignored: int


@dataclass(slots=True)
class Historian:
    """Turns messages into changes of a store.

    `allowance_ms` is by how much a predicate counts earlier than its change was appended, since the
    clocks of brokers differ.
    """

    allowance_ms: int
    _parser: Parser | None = None

    def applied(self, snapshot: Snapshot, given: Sequence[Change], horizon_us: int) -> Applied:
        """The changes of all given messages, which are in the log's order.

        Regions that ended before the horizon are left out: no event of that time can come.

        Cost: a binary search per id and segment, and a parse per predicate.
        """
        nobodys = [change for change in given if not change.id]
        by_id: dict[str, list[Change]] = {}
        for change in given:
            if change.id:
                by_id.setdefault(change.id, []).append(change)
        asked = list(by_id)
        rows = snapshot.find(pa.array(asked, pa.large_string()))
        revisions = np.zeros(len(asked), np.int64)
        revisions[rows >= 0] = snapshot.revisions(rows[rows >= 0])
        ids: list[str] = []
        counted, known, owned, highest = [], [], [], []
        for id, row, revision in zip(asked, rows.tolist(), revisions.tolist(), strict=True):
            effective, revision = _effective(by_id[id], revision)
            if effective:
                known += [row] if row >= 0 else []
                owned += [len(ids)] if row >= 0 else []
                counted += [(len(ids), one, after) for one, after in _with_next(effective)]
                ids.append(id)
                highest.append(revision)
        first, last = dict[int, int](), dict[int, int]()
        for owner, change, _ in counted:
            first[owner] = min(first.get(owner, change.at_ms), change.at_ms)
            last[owner] = change.at_ms
        old = _ended(snapshot, np.array(known, np.int64), np.array(owned, np.int64), first)
        old_regions, old_of = _without_ended(*old, horizon_us)
        new_regions, new_of, unreadable = self._begun(snapshot.space, counted)
        regions = Regions.concat([old_regions, new_regions])
        of = np.concatenate([old_of, new_of])
        moments = np.array([last[owner] for owner in range(len(ids))], np.int64) * 1000 + _MARK_US
        over = np.flatnonzero(_ends(regions, of, len(ids)) < moments - _MARK_US - 1)
        marks = _marks(snapshot.space, moments[over])
        regions, of = Regions.concat([regions, marks]), np.concatenate([of, over])
        changes = Changes(
            pa.array(ids, pa.large_string()), regions, of,
            revisions=np.array(highest, np.int64),
        )  # fmt: skip
        ignored = len(given) - len(nobodys) - len(counted)
        return Applied(changes, (*nobodys, *unreadable), ignored)

    def _begun(
        self, space: Space, counted: Sequence[tuple[int, Change, int | None]]
    ) -> tuple[Regions, Rows, list[Change]]:
        """The regions of new predicates, each with its lifetime, and whose they are."""
        unreadable = [change for _, change, _ in counted if change.problem is not None]
        put = [one for one in counted if one[1].predicate is not None]
        predicate_space = without_lifetime(space)
        if self._parser is None or self._parser.space != predicate_space:
            self._parser = Parser(predicate_space)
        parsed = self._parser.parse([change.predicate or "" for _, change, _ in put])
        for row, error in sorted(parsed.rejected.items()):
            unreadable.append(put[row][1]._replace(problem=str(error)))
        from_us = [self._from_ms(change) * 1000 for _, change, _ in put]
        to_us = [_to_us(change, after) for _, change, after in put]
        of, count = parsed.of, len(parsed.regions)
        lower = np.array(from_us, np.int64)[of]
        upper = np.array(to_us, np.int64)[of] - 1
        given = dict(parsed.regions.constraints)
        given[LIFETIME] = Constraints(np.arange(count), Scalars.of(_TIMES, lower, upper))
        whole = replace(space, derived=parsed.space.derived)
        regions, kept = Regions.of(whole, count, given)
        owners = np.array([owner for owner, _, _ in put], np.int64)
        return regions, owners[of[kept]], unreadable

    def _from_ms(self, change: Change) -> int:
        began = change.at_ms - self.allowance_ms
        return began if change.from_ms is None else max(began, change.from_ms)


def _effective(changes: Sequence[Change], revision: int) -> tuple[list[Change], int]:
    """The changes of one subscription that count, and its highest revision then."""
    effective = []
    for change in changes:
        if change.revision == 0 or change.revision > revision:
            effective.append(change)
            revision = max(revision, change.revision)
    return effective, revision


def _with_next(changes: Sequence[Change]) -> list[tuple[Change, int | None]]:
    """Each change, and when a later one of the same subscription ended it.

    That is the next, unless clocks of brokers differ: what comes later on the topic counts from its
    time on, even if that is earlier.
    """
    found: list[tuple[Change, int | None]] = []
    end: int | None = None
    for change in reversed(changes):
        found.append((change, end))
        end = change.at_ms if end is None else min(end, change.at_ms)
    return found[::-1]


def _to_us(change: Change, after_ms: int | None) -> int:
    ends = [end for end in (change.to_ms, after_ms) if end is not None]
    return min(ends) * 1000 if ends else int(_TIMES.high)


def _ended(
    snapshot: Snapshot, rows: Rows, owners: Rows, first_ms: Mapping[int, int]
) -> tuple[Regions, Rows]:
    """The regions that changed subscriptions had, up to their first change; and whose they are.

    Marks of earlier changes are no longer needed.
    """
    regions, of = snapshot.regions(rows)
    owner = owners[of]
    until = np.array([first_ms[one] * 1000 - 1 for one in owner.tolist()], np.int64)
    lifetime = regions.batch(regions.space[LIFETIME], np.arange(len(regions)))
    assert isinstance(lifetime, Scalars)
    until[lifetime.lower % 1000 == _MARK_US] = _TIMES.low
    before = Scalars.of(_TIMES, np.full(len(until), _TIMES.low), until)
    given = dict(regions.constraints)
    given[LIFETIME] = Constraints(np.arange(len(regions)), lifetime.intersect(before))
    regions, kept = Regions.of(regions.space, len(regions), given)
    return regions, owner[kept]


def _without_ended(regions: Regions, of: Rows, horizon_us: int) -> tuple[Regions, Rows]:
    if LIFETIME not in regions.constraints:
        return regions, of
    lifetime = regions.constraints[LIFETIME].batch
    assert isinstance(lifetime, Scalars)
    kept = np.flatnonzero(lifetime.upper >= horizon_us)
    return (regions, of) if len(kept) == len(of) else (regions.take(kept), of[kept])


def _ends(regions: Regions, of: Rows, count: int) -> Rows:
    """When the last region of each subscription ends; of one that has none, before all times."""
    lifetime = regions.batch(regions.space[LIFETIME], np.arange(len(regions)))
    assert isinstance(lifetime, Scalars)
    ends = np.full(count, _TIMES.low, np.int64)
    np.maximum.at(ends, of, lifetime.upper)
    return ends


def _marks(space: Space, moments: Rows) -> Regions:
    """Regions that match nothing, and keep revisions as long as a region that ended just now.

    Events have whole milliseconds: a lifetime between two of them contains none.
    """
    lifetime = Constraints(np.arange(len(moments)), Scalars.of(_TIMES, moments, moments))
    return Regions(space, len(moments), {LIFETIME: lifetime} if len(moments) else {})
