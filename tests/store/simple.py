"""Stores of subscriptions with one integer attribute, in one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from covey.language import Parser
from covey.space import Events, Space
from covey.store import Changes, Manifest, Snapshot, TieredMergePolicy

SPACE = Space.from_types({"x": pa.int64()})
TINY = TieredMergePolicy(min_level_regions=4, level_factor=2)
"""Merge policy under which a handful of subscriptions has several segments."""


def changes(put: Mapping[object, str], removed: Sequence[object] = ()) -> Changes:
    """Return changes with these predicates by id, and removed ids."""
    return Changes.upsert(list(put), Parser(SPACE).parse(list(put.values())), removed_ids=removed)


def match_values(snapshot: Snapshot, *xs: int | None) -> list[tuple[int, object]]:
    """Return the pairs (row of the event, id) that match events with these values."""
    table = pa.table({"x": pa.array(xs, pa.int64())})
    return sorted(snapshot.match_ids(Events.from_arrow(table, SPACE)))


def sizes(version: Manifest) -> list[tuple[int, int]]:
    """Return the number of subscriptions of each segment, and how many of them are dead."""
    return [(entry.subscriptions, entry.dead) for entry in version.segments]
