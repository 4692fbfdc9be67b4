"""What a compaction says of each subscription, as tables, and the version it makes of a store."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from covey.compact import Compaction, Standing
from covey.index import Pairs
from covey.language import render
from covey.space.ragged import Ragged
from covey.spark.ids import IdType
from covey.spark.portions import Named, Portions
from covey.spark.worker import snapshot
from covey.store import Changes, Prepared, Store, Version
from covey.store.arrays import Arrays
from covey.store.places import directory_at
from covey.store.subscriptions import Owned

__all__ = ["NAMES", "NEVER", "Filters", "Standings", "arrange", "write_tables"]

Rows = NDArray[np.int64]
NEVER = max(Standing) + 1
"""Of a subscription that can match nothing: it has no region."""
NAMES = (*(one.name.lower() for one in Standing), "never")
"""Standings as tables have them."""
_AT_ONCE, _ROWS = 500_000, 50_000  # rows of a file, and of what one task reads


@dataclass(frozen=True, slots=True)
class Standings:
    """For each subscription its standing, and the rows of those that absorb it if it is passive.

    A subscription stands as the first of its regions does, active ones first.
    """

    standing: NDArray[np.int8]
    absorbers: Ragged

    @classmethod
    def of(cls, owned: Owned, found: Compaction) -> Standings:
        """From what became of regions."""
        standing = np.full(len(owned.ids), NEVER, np.int8)
        np.minimum.at(standing, owned.of, found.standing)
        whose = owned.of[np.repeat(np.arange(len(owned.of)), found.absorbers.lengths)]
        by = owned.of[found.absorbers.values]
        passive = np.flatnonzero((standing[whose] != Standing.ACTIVE) & (whose != by))
        pairs = Pairs(whose[passive], by[passive])
        if len(owned.of) > len(owned.ids) or (np.diff(owned.of) < 0).any():
            pairs = Pairs.of(pairs.asked, pairs.stored).once()
        lengths = np.bincount(pairs.asked, minlength=len(owned.ids))
        return cls(standing, Ragged.from_lengths(lengths, pairs.stored.astype(np.int64)))


def arrange(portions: Portions, base: int, is_active: NDArray[np.bool_], label: str) -> Version:
    """The version in which passive subscriptions are asked only for what active ones contain."""
    with portions.shared({"is_active": is_active}, {}) as file:
        work = partial(_prepare, portions.place, base)
        over, under = (_prepared(answer) for answer in portions.run(work, file, 2, 1))
    with Store.open(portions.place) as store:
        return store.arrange(over, under, label, base)


def write_tables(
    place: str, ids: IdType, owned: Owned, standings: Standings, found: Compaction
) -> str:
    """Writes the tables of subscriptions and of filters; gives the folder that they are in.

    Filters are a store of their own, from which `Filters` writes predicates.
    """
    folder, directory = f"compacted/{uuid4().hex}", directory_at(place)
    numbers = np.arange(len(found.filters))
    with Store.create(f"{place}/{folder}/store", found.filters.space.without_derived) as store:
        store.apply(Changes(numbers, found.filters, numbers))
    counts = pa.table({"filter": numbers, "regions": found.members.lengths})
    tables = {"subscriptions": _subscriptions(ids, owned, standings), "filters": iter([counts])}
    for name, parts in tables.items():
        for n, part in enumerate(parts):
            content = io.BytesIO()
            pq.write_table(part, content, row_group_size=_ROWS)
            directory.put({f"{folder}/{name}/{n:05d}.parquet": (content.getbuffer(),)})
    return folder


@dataclass(frozen=True, slots=True)
class Filters:
    """The function of a `mapInArrow` that writes the predicates of filters by number."""

    place: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            store = snapshot(self.place, 1, None)
            regions, of = store.regions(store.find(batch.column("filter")))
            some = regions.take(np.argsort(of))
            texts = pa.array([render(some, i) for i in range(len(some))], pa.string())
            columns = [batch.column("filter"), texts, batch.column("regions")]
            yield pa.RecordBatch.from_arrays(columns, ["filter", "predicate", "regions"])


def _subscriptions(ids: IdType, owned: Owned, standings: Standings) -> Iterator[pa.Table]:
    names = pa.array(NAMES)
    for start in range(0, max(1, len(owned.ids)), _AT_ONCE):
        rows = np.arange(start, min(start + _AT_ONCE, len(owned.ids)))
        absorbers = standings.absorbers.take(rows)
        by = ids.from_store(owned.ids.take(absorbers.values).arrow())
        yield pa.table(
            {
                "id": ids.from_store(owned.ids.take(rows).arrow()),
                "standing": names.take(pa.array(standings.standing[rows])),
                "absorbed_by": pa.ListArray.from_arrays(absorbers.offsets.astype(np.int32), by),
            }
        )


def _prepare(place: str, base: int, shared: Arrays, start: int, stop: int) -> Named:
    """The segment of the active subscriptions, or that of the others."""
    assert stop == start + 1
    is_active = shared.arrays["is_active"]
    rows = np.flatnonzero(is_active if start == 0 else ~is_active)
    store = Store.open(place)
    version = store.snapshot(base)
    chosen = version.rows[rows]
    regions, of = version.regions(chosen)
    changes = Changes(
        version.ids(chosen), regions, of.astype(np.int64), revisions=version.revisions(chosen)
    )
    prepared = store.prepare(changes, base)
    assert prepared is not None
    return {
        "name": np.frombuffer(prepared.file.encode(), np.uint8),
        "sizes": np.array([prepared.size_bytes, prepared.subscriptions]),
    }


def _prepared(answer: Mapping[str, NDArray[Any]]) -> Prepared:
    size_bytes, subscriptions = answer["sizes"].tolist()
    return Prepared(answer["name"].tobytes().decode(), size_bytes, subscriptions)
