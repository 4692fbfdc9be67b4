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

from covey.covering import Reduction, RegionStatus
from covey.index import Pairs
from covey.language import render
from covey.space.ragged_array import RaggedArray
from covey.spark.covering.shared_array_job import NamedArrays, SharedArrayJob
from covey.spark.id_types import IdType
from covey.spark.matching.worker_cache import open_snapshot
from covey.store import Changes, Manifest, StagedSegment, Store
from covey.store.segments import SubscriptionBatch
from covey.store.storage import MappedArrays, open_storage

__all__ = [
    "NEVER_MATCHES",
    "STATUS_NAMES",
    "RenderFiltersTask",
    "SubscriptionStatuses",
    "publish_active_first",
    "write_result_tables",
]

Rows = NDArray[np.int64]
NEVER_MATCHES = max(RegionStatus) + 1
"""Of a subscription that can match nothing: it has no region."""
STATUS_NAMES = (*(one.name.lower() for one in RegionStatus), "never")
"""Standings as tables have them."""
_FILE_ROWS, _ROW_GROUP_ROWS = 500_000, 50_000  # rows of a file, and of what one task reads


@dataclass(frozen=True, slots=True)
class SubscriptionStatuses:
    """For each subscription its status, and the rows of those that absorb it if it is redundant.

    A subscription stands as the first of its regions does, active ones first.
    """

    statuses: NDArray[np.int8]
    absorbers: RaggedArray

    @classmethod
    def from_reduction(
        cls, subscriptions: SubscriptionBatch, reduction: Reduction
    ) -> SubscriptionStatuses:
        """From what became of regions."""
        status = np.full(len(subscriptions.ids), NEVER_MATCHES, np.int8)
        np.minimum.at(status, subscriptions.subscription_rows, reduction.statuses)
        whose = subscriptions.subscription_rows[
            np.repeat(np.arange(len(subscriptions.subscription_rows)), reduction.absorbers.lengths)
        ]
        by = subscriptions.subscription_rows[reduction.absorbers.values]
        redundant = np.flatnonzero((status[whose] != RegionStatus.ACTIVE) & (whose != by))
        pairs = Pairs(whose[redundant], by[redundant])
        if (
            len(subscriptions.subscription_rows) > len(subscriptions.ids)
            or (np.diff(subscriptions.subscription_rows) < 0).any()
        ):
            pairs = Pairs.from_unsorted(pairs.query_rows, pairs.stored_rows).drop_duplicates()
        lengths = np.bincount(pairs.query_rows, minlength=len(subscriptions.ids))
        return cls(status, RaggedArray.from_lengths(lengths, pairs.stored_rows.astype(np.int64)))


def publish_active_first(
    job: SharedArrayJob, base_version: int, is_active: NDArray[np.bool_], label: str
) -> Manifest:
    """The version in which redundant subscriptions are asked only for what active ones contain."""
    with job.share_arrays({"is_active": is_active}, {}) as file:
        work = partial(_stage_active_or_redundant, job.location, base_version)
        over, under = (_decode_staged(answer) for answer in job.run(work, file, 2, 1))
    with Store.open(job.location) as store:
        return store.commit_gated(over, under, label, base_version)


def write_result_tables(
    location: str,
    id_type: IdType,
    subscriptions: SubscriptionBatch,
    statuses: SubscriptionStatuses,
    reduction: Reduction,
) -> str:
    """Writes the tables of subscriptions and of filters; gives the folder that they are in.

    Filters are a store of their own, from which `Filters` writes predicates.
    """
    folder, directory = f"compacted/{uuid4().hex}", open_storage(location)
    numbers = np.arange(len(reduction.filters))
    with Store.create(
        f"{location}/{folder}/store", reduction.filters.space.without_derived
    ) as store:
        store.apply(Changes(numbers, reduction.filters, numbers))
    counts = pa.table({"filter": numbers, "regions": reduction.filter_members.lengths})
    tables = {
        "subscriptions": _build_status_tables(id_type, subscriptions, statuses),
        "filters": iter([counts]),
    }
    for name, parts in tables.items():
        for n, part in enumerate(parts):
            content = io.BytesIO()
            pq.write_table(part, content, row_group_size=_ROW_GROUP_ROWS)
            directory.put({f"{folder}/{name}/{n:05d}.parquet": (content.getbuffer(),)})
    return folder


@dataclass(frozen=True, slots=True)
class RenderFiltersTask:
    """The function of a `mapInArrow` that writes the predicates of filters by number."""

    location: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            store = open_snapshot(self.location, 1, None)
            regions, of = store.take_regions(store.find_rows(batch.column("filter")))
            some = regions.take(np.argsort(of))
            texts = pa.array([render(some, i) for i in range(len(some))], pa.string())
            columns = [batch.column("filter"), texts, batch.column("regions")]
            yield pa.RecordBatch.from_arrays(columns, ["filter", "predicate", "regions"])


def _build_status_tables(
    id_type: IdType, subscriptions: SubscriptionBatch, statuses: SubscriptionStatuses
) -> Iterator[pa.Table]:
    names = pa.array(STATUS_NAMES)
    for start in range(0, max(1, len(subscriptions.ids)), _FILE_ROWS):
        rows = np.arange(start, min(start + _FILE_ROWS, len(subscriptions.ids)))
        absorbers = statuses.absorbers.take(rows)
        by = id_type.from_store(subscriptions.ids.take(absorbers.values).to_arrow())
        yield pa.table(
            {
                "id": id_type.from_store(subscriptions.ids.take(rows).to_arrow()),
                "status": names.take(pa.array(statuses.statuses[rows])),
                "absorbed_by": pa.ListArray.from_arrays(absorbers.offsets.astype(np.int32), by),
            }
        )


def _stage_active_or_redundant(
    location: str, base_version: int, shared_arrays: MappedArrays, start: int, stop: int
) -> NamedArrays:
    """The segment of the active subscriptions, or that of the others."""
    assert stop == start + 1
    is_active = shared_arrays.arrays["is_active"]
    rows = np.flatnonzero(is_active if start == 0 else ~is_active)
    store = Store.open(location)
    version = store.snapshot(base_version)
    chosen = version.rows[rows]
    regions, of = version.take_regions(chosen)
    changes = Changes(
        version.take_ids(chosen),
        regions,
        of.astype(np.int64),
        revisions=version.take_revisions(chosen),
    )
    prepared = store.stage(changes, base_version)
    assert prepared is not None
    return {
        "name": np.frombuffer(prepared.file.encode(), np.uint8),
        "sizes": np.array([prepared.size_bytes, prepared.subscriptions]),
    }


def _decode_staged(answer: Mapping[str, NDArray[Any]]) -> StagedSegment:
    size_bytes, subscriptions = answer["sizes"].tolist()
    return StagedSegment(answer["name"].tobytes().decode(), size_bytes, subscriptions)
