"""Tables of a reduction's result, and a version that matches active subscriptions first.

Redundant subscriptions are matched only with the events that match an active one.
"""

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
from covey.spark.workers import open_shared_store
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
"""Status of a subscription that is unsatisfiable: it has no region."""
STATUS_NAMES = (*(status.name.lower() for status in RegionStatus), "never")
"""Names of statuses in tables; the position is the number of the status."""
_FILE_ROWS, _ROW_GROUP_ROWS = 500_000, 50_000  # rows of a file, and of a row group (one task each)


@dataclass(frozen=True, slots=True)
class SubscriptionStatuses:
    """Status of each subscription, and the rows of the subscriptions that absorb it.

    The status of a subscription is the smallest number among the statuses of its regions. So a
    subscription with an active region is active. An active subscription has no absorbers.
    """

    statuses: NDArray[np.int8]
    absorbers: RaggedArray

    @classmethod
    def from_reduction(
        cls, subscriptions: SubscriptionBatch, reduction: Reduction
    ) -> SubscriptionStatuses:
        """Return the statuses of subscriptions from the reduction of their regions."""
        status = np.full(len(subscriptions.ids), NEVER_MATCHES, np.int8)
        np.minimum.at(status, subscriptions.subscription_rows, reduction.statuses)
        absorbed = subscriptions.subscription_rows[
            np.repeat(np.arange(len(subscriptions.subscription_rows)), reduction.absorbers.lengths)
        ]
        absorbers = subscriptions.subscription_rows[reduction.absorbers.values]
        redundant = np.flatnonzero(
            (status[absorbed] != RegionStatus.ACTIVE) & (absorbed != absorbers)
        )
        pairs = Pairs(absorbed[redundant], absorbers[redundant])
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
    """Commit a version with a segment of active subscriptions and a gated one of redundant ones.

    Only events that match an active subscription are matched with the gated segment.

    Args:
        job: runner of the tasks that stage the segments.
        base_version: version whose subscriptions are divided into the two segments.
        is_active: for each live row of that version, whether the subscription is active.
        label: label of the new version.
    """
    with job.share_arrays({"is_active": is_active}, {}) as file:
        work = partial(_stage_active_or_redundant, job.location, base_version)
        active, redundant = (_decode_staged(answer) for answer in job.run(work, file, 2, 1))
    with Store.open(job.location) as store:
        return store.commit_gated(active, redundant, label, base_version)


def write_result_tables(
    location: str,
    id_type: IdType,
    subscriptions: SubscriptionBatch,
    statuses: SubscriptionStatuses,
    reduction: Reduction,
) -> str:
    """Write the tables of subscriptions and of filters, and return their folder.

    The folder is relative to `location`. Filters are also written to a separate store in this
    folder, from which `RenderFiltersTask` renders their predicates.

    Args:
        location: location of the model's store.
        id_type: conversion of ids.
        subscriptions: the subscriptions.
        statuses: status and absorbers of each subscription.
        reduction: the reduction, with the filters.
    """
    folder, directory = f"reduced/{uuid4().hex}", open_storage(location)
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
    for name, files in tables.items():
        for n, table in enumerate(files):
            content = io.BytesIO()
            pq.write_table(table, content, row_group_size=_ROW_GROUP_ROWS)
            directory.put({f"{folder}/{name}/{n:05d}.parquet": (content.getbuffer(),)})
    return folder


@dataclass(frozen=True, slots=True)
class RenderFiltersTask:
    """Function of a `mapInArrow` over rows of the table of filters: add the column `predicate`.

    Args:
        location: location of the store of filters.
    """

    location: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            snapshot = open_snapshot(self.location, 1, None)
            regions, batch_rows = snapshot.take_regions(snapshot.find_rows(batch.column("filter")))
            filters = regions.take(np.argsort(batch_rows))
            texts = pa.array([render(filters, i) for i in range(len(filters))], pa.string())
            columns = [batch.column("filter"), texts, batch.column("regions")]
            yield pa.RecordBatch.from_arrays(columns, ["filter", "predicate", "regions"])


def _build_status_tables(
    id_type: IdType, subscriptions: SubscriptionBatch, statuses: SubscriptionStatuses
) -> Iterator[pa.Table]:
    names = pa.array(STATUS_NAMES)
    for start in range(0, max(1, len(subscriptions.ids)), _FILE_ROWS):
        rows = np.arange(start, min(start + _FILE_ROWS, len(subscriptions.ids)))
        absorbers = statuses.absorbers.take(rows)
        absorber_ids = id_type.from_store(subscriptions.ids.take(absorbers.values).values)
        yield pa.table(
            {
                "id": id_type.from_store(subscriptions.ids.take(rows).values),
                "status": names.take(pa.array(statuses.statuses[rows])),
                "absorbed_by": pa.ListArray.from_arrays(
                    absorbers.offsets.astype(np.int32), absorber_ids
                ),
            }
        )


def _stage_active_or_redundant(
    location: str, base_version: int, shared_arrays: MappedArrays, start: int, stop: int
) -> NamedArrays:
    """Stage the segment of the active subscriptions, or of the redundant ones.

    The function stages the active subscriptions if `start` is 0, and the redundant ones if `start`
    is 1. It is the `work` of a `SharedArrayJob` with two portions of one row.
    """
    assert stop == start + 1
    is_active = shared_arrays.arrays["is_active"]
    positions = np.flatnonzero(is_active if start == 0 else ~is_active)
    store = open_shared_store(location)
    snapshot = store.snapshot(base_version)
    rows = snapshot.rows[positions]
    regions, subscription_rows = snapshot.take_regions(rows)
    changes = Changes(
        snapshot.take_ids(rows),
        regions,
        subscription_rows.astype(np.int64),
        revisions=snapshot.take_revisions(rows),
    )
    staged = store.stage(changes, base_version)
    assert staged is not None
    return {
        "name": np.frombuffer(staged.file.encode(), np.uint8),
        "sizes": np.array([staged.size_bytes, staged.subscriptions]),
    }


def _decode_staged(answer: Mapping[str, NDArray[Any]]) -> StagedSegment:
    size_bytes, subscriptions = answer["sizes"].tolist()
    return StagedSegment(answer["name"].tobytes().decode(), size_bytes, subscriptions)
