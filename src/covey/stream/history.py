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
from covey.language.analysis import ExpressionTypes
from covey.space import Space
from covey.space.keys import domain
from covey.space.types import TIMESTAMP
from covey.spark.lifetimes import LIFETIME, without_lifetime
from covey.store import Changes, Snapshot
from covey.stream.messages import Change

__all__ = ["Applied", "Historian", "last_ends"]

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
    unanalysed: tuple[str, ...] = ()
    """Expressions whose types must be known first; some predicates have no region then."""


@dataclass(slots=True)
class Historian:
    """Turns messages into changes of a store.

    `allowance_ms` is by how much a predicate counts earlier than its change was appended, since the
    clocks of brokers differ. `types` knows what Spark says of expressions.
    """

    allowance_ms: int
    types: ExpressionTypes | None = None
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
        known, owned, highest, first, last = [], [], [], [], []
        counted = _Counted([], [], [])
        for id, row, revision in zip(asked, rows.tolist(), revisions.tolist(), strict=True):
            effective, revision = _effective(by_id[id], revision)
            if effective:
                if row >= 0:
                    known.append(row)
                    owned.append(len(ids))
                counted.add(len(ids), effective)
                ids.append(id)
                highest.append(revision)
                first.append(min(change.at_ms for change in effective))
                last.append(effective[-1].at_ms)
        old = _ended(snapshot, np.array(known, np.int64), np.array(owned, np.int64), first)
        old_regions, old_of = _without_ended(*old, horizon_us)
        new_regions, new_of, unreadable, unanalysed = self._begun(snapshot.space, counted)
        regions = Regions.concat([old_regions, new_regions])
        of = np.concatenate([old_of, new_of])
        moments = np.array(last, np.int64) * 1000 + _MARK_US
        over = np.flatnonzero(last_ends(regions, of, len(ids)) < moments - _MARK_US - 1)
        marks = _marks(snapshot.space, moments[over])
        regions, of = Regions.concat([regions, marks]), np.concatenate([of, over])
        changes = Changes(
            pa.array(ids, pa.large_string()), regions, of,
            revisions=np.array(highest, np.int64),
        )  # fmt: skip
        ignored = len(given) - len(nobodys) - len(counted.changes)
        return Applied(changes, (*nobodys, *unreadable), ignored, unanalysed)

    def _begun(
        self, space: Space, counted: _Counted
    ) -> tuple[Regions, Rows, list[Change], tuple[str, ...]]:
        """The regions of new predicates, each with its lifetime, and whose they are."""
        unreadable = [change for change in counted.changes if change.problem is not None]
        put = counted.with_predicates()
        predicate_space = without_lifetime(space)
        if self._parser is None or self._parser.space != predicate_space:
            self._parser = Parser(predicate_space, types=self.types)
        parsed = self._parser.parse([change.predicate or "" for change in put.changes])
        for row, error in sorted(parsed.rejected.items()):
            unreadable.append(put.changes[row]._replace(problem=str(error)))
        from_us = [self._from_ms(change) * 1000 for change in put.changes]
        to_us = list(map(_to_us, put.changes, put.ends_ms))
        of, count = parsed.of, len(parsed.regions)
        lower = np.array(from_us, np.int64)[of]
        upper = np.array(to_us, np.int64)[of] - 1
        given = dict(parsed.regions.constraints)
        given[LIFETIME] = Constraints(np.arange(count), Scalars.of(_TIMES, lower, upper))
        whole = replace(space, derived=parsed.space.derived)
        regions, kept = Regions.of(whole, count, given)
        owners = np.array(put.owners, np.int64)
        unanalysed = tuple(chain.from_iterable(parsed.unanalysed.values()))
        return regions, owners[of[kept]], unreadable, unanalysed

    def _from_ms(self, change: Change) -> int:
        began = change.at_ms - self.allowance_ms
        return began if change.from_ms is None else max(began, change.from_ms)


class _Counted(NamedTuple):
    """Changes that count: whose they are, and when a later one of the same subscription ends them.

    That is the next, unless clocks of brokers differ: what comes later on the topic counts from its
    time on, even if that is earlier.
    """

    owners: list[int]
    changes: list[Change]
    ends_ms: list[int | None]

    def add(self, owner: int, changes: Sequence[Change]) -> None:
        """Those of one subscription, in the log's order."""
        ends: list[int | None] = [None]
        for change in changes[:0:-1]:
            end = ends[-1]
            ends.append(change.at_ms if end is None else min(end, change.at_ms))
        self.owners.extend([owner] * len(changes))
        self.changes.extend(changes)
        self.ends_ms.extend(reversed(ends))

    def with_predicates(self) -> _Counted:
        """Those that do not cancel."""
        if all(change.predicate is not None for change in self.changes):
            return self
        put = [i for i, change in enumerate(self.changes) if change.predicate is not None]
        return _Counted(*([column[i] for i in put] for column in self))  # type: ignore[arg-type]


def _effective(changes: Sequence[Change], revision: int) -> tuple[Sequence[Change], int]:
    """The changes of one subscription that count, and its highest revision then."""
    if len(changes) == 1 and changes[0].revision == 0:
        return changes, revision
    effective = []
    for change in changes:
        if change.revision == 0 or change.revision > revision:
            effective.append(change)
            revision = max(revision, change.revision)
    return effective, revision


def _to_us(change: Change, end_ms: int | None) -> int:
    ends = [end for end in (change.to_ms, end_ms) if end is not None]
    return min(ends) * 1000 if ends else int(_TIMES.high)


def _ended(
    snapshot: Snapshot, rows: Rows, owners: Rows, first_ms: Sequence[int]
) -> tuple[Regions, Rows]:
    """The regions that changed subscriptions had, up to their first change; and whose they are.

    Marks of earlier changes are no longer needed.
    """
    regions, of = snapshot.regions(rows)
    owner = owners[of]
    until = np.array(first_ms, np.int64)[owner] * 1000 - 1
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


def last_ends(regions: Regions, of: NDArray[np.integer[Any]], count: int) -> Rows:
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
