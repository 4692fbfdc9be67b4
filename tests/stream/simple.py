"""Changes, events and stores of streams, in one line each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from covey.space import Events, Space
from covey.spark.validity import VALIDITY, with_validity
from covey.store import IdKind, Snapshot, Store, TieredMergePolicy
from covey.stream.control.change_translator import ChangeTranslator, TranslatedChanges
from covey.stream.control.messages import SubscriptionChange

SPACE = with_validity(Space.from_types({"a": pa.int64(), "b": pa.int64()}))
TINY = TieredMergePolicy(min_level_regions=3, level_factor=2)
"""Merge policy under which a handful of subscriptions has several segments."""
NEVER_US = -(1 << 62)

Event = tuple[int | None, int | None, int | None]
"""The values of `a` and `b`, and the append time in milliseconds; None if it is unknown."""


def change(
    id: str,
    at_ms: int,
    predicate: str | None = "true",
    revision: int = 0,
    from_ms: int | None = None,
    to_ms: int | None = None,
    problem: str | None = None,
) -> SubscriptionChange:
    return SubscriptionChange(
        id, at_ms, f"alerts-0-{at_ms}", predicate, revision, from_ms, to_ms, problem
    )


def create(place: Path) -> Store:
    return Store.create(place, SPACE, id_kind=IdKind.TEXT, merge_policy=TINY)


def follow(
    store: Store, *changes: SubscriptionChange, clock_skew_ms: int = 0, horizon_us: int = NEVER_US
) -> TranslatedChanges:
    """Apply changes as one batch."""
    applied = ChangeTranslator(clock_skew_ms).translate(store.snapshot(), changes, horizon_us)
    store.apply(applied.store_changes)
    return applied


def match_events(snapshot: Snapshot, *events: Event) -> list[list[str]]:
    """Return the ids that each event notifies."""
    matches = snapshot.match_ids(Events.from_arrow(columns(events, snapshot), snapshot.space))
    found: list[list[str]] = [[] for _ in events]
    for row, id_ in matches:
        found[row].append(id_)
    return [sorted(ids) for ids in found]


def columns(events: Sequence[Event], snapshot: Snapshot) -> pa.Table:
    """Return events as a table; every derived attribute is `a + b`."""
    at_us = [None if at_ms is None else 1000 * at_ms for _, _, at_ms in events]
    arrays = {
        "a": pa.array([a for a, _, _ in events], pa.int64()),
        "b": pa.array([b for _, b, _ in events], pa.int64()),
        VALIDITY: pa.array(at_us, pa.timestamp("us", tz="UTC")),
    }
    sums = [None if a is None or b is None else a + b for a, b, _ in events]
    arrays |= {one.name: pa.array(sums, pa.int64()) for one in snapshot.space.derived}
    return pa.table(arrays)
