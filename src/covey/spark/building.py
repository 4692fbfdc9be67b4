"""Zones built by workers: a segment of each, out of segments that were prepared.

Prepared segments are read one at a time. Which of their rows meet which zone is shuffled, not the
subscriptions: who builds a zone takes its rows out of the same files.

Cost: each prepared segment is opened by every task that builds a zone with some of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from covey.space import Space
from covey.spark.task import in_a_task, told
from covey.store import Prepared, Store
from covey.store.homes import prepare_zone
from covey.store.spaces import space_from_json, space_to_json
from covey.store.subscriptions import Owned
from covey.zones import InZone, Zoning

__all__ = ["PREPARED", "as_rows", "built", "prepared_of", "publish"]

PREPARED = "content STRING"
"""The columns in which tasks tell what they have prepared."""

_INT = np.int32

_ROWS = "zone INT, file STRING, rows BINARY, first BINARY, is_elsewhere BINARY"


def publish(
    spark: SparkSession, place: str, base: int, prepared: Sequence[Prepared], zoning: Zoning,
    is_smart: bool, space: Space, label: str,
) -> dict[str, Any]:  # fmt: skip
    """Makes the version of `base` in which prepared segments are spread over zones."""
    of_zones = built(spark, place, prepared, zoning, is_smart)
    work = partial(
        _publish, place, base, list(prepared), of_zones, zoning, space_to_json(space), label
    )
    return in_a_task(spark, work)


def built(
    spark: SparkSession, place: str, prepared: Sequence[Prepared], zoning: Zoning, is_smart: bool
) -> list[Prepared]:
    """Segments of all zones, out of what was prepared."""
    placing = _Placing(place, tuple(prepared), zoning)
    zones = len(zoning) + 1  # with the one that is everywhere
    with told():
        files = spark.range(0, len(prepared), 1, max(1, len(prepared)))
        placed = files.mapInArrow(placing, _ROWS).repartitionById(zones, "zone")
        building = _Building(place, tuple(prepared), is_smart)
        return prepared_of(placed.mapInArrow(building, PREPARED))


def prepared_of(frame: DataFrame) -> list[Prepared]:
    """What tasks have prepared, from rows of `as_rows`."""
    return [Prepared(**json.loads(row["content"])) for row in frame.collect()]


def as_rows(prepared: Sequence[Prepared]) -> pa.RecordBatch:
    """What a task has prepared, as it tells the driver."""
    return pa.RecordBatch.from_pydict({"content": [json.dumps(asdict(one)) for one in prepared]})


@dataclass(frozen=True, slots=True)
class _Placing:
    """The function of a `mapInArrow` over numbers of prepared segments."""

    place: str
    prepared: tuple[Prepared, ...]
    zoning: Zoning

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        store = Store.open(self.place)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                one = self.prepared[number]
                owned = store.prepared(one).live()
                for some in self.zoning.spread(owned.regions, owned.of, len(owned.ids)):
                    arrays = some.rows.astype(_INT), some.first.astype(_INT), some.is_elsewhere
                    columns = [pa.array([some.zone], pa.int32()), pa.array([one.file])]
                    columns += [pa.array([array.tobytes()], pa.binary()) for array in arrays]
                    names = ["zone", "file", "rows", "first", "is_elsewhere"]
                    yield pa.RecordBatch.from_arrays(columns, names)


@dataclass(frozen=True, slots=True)
class _Building:
    """The function of a `mapInArrow` over what was placed in one zone."""

    place: str
    prepared: tuple[Prepared, ...]
    is_smart: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        placed = [row for batch in batches for row in batch.to_pylist()]
        if not placed:
            return
        placed.sort(key=lambda row: row["file"])  # what is equal has one order in all zones
        store = Store.open(self.place)
        owned = self._taken(store, placed)
        some = InZone(
            placed[0]["zone"],
            np.arange(len(owned.ids)),
            np.frombuffer(b"".join(row["first"] for row in placed), _INT).astype(np.int64),
            np.frombuffer(b"".join(row["is_elsewhere"] for row in placed), np.bool_),
        )
        yield as_rows(prepare_zone(store, owned, some, self.is_smart))

    def _taken(self, store: Store, placed: Sequence[dict[str, Any]]) -> Owned:
        """What the zone has of each file, the files one after another."""
        by_file, parts = {one.file: one for one in self.prepared}, []
        for row in placed:
            subscriptions = store.prepared(by_file[row["file"]]).subscriptions
            parts.append(subscriptions.take(np.frombuffer(row["rows"], _INT).astype(np.int64)))
        return Owned.concat(parts)


def _publish(
    place: str, base: int, prepared: Sequence[Prepared], of_zones: Sequence[Prepared],
    zoning: Zoning, space: dict[str, Any], label: str,
) -> dict[str, Any]:  # fmt: skip
    with Store.open(place) as store:
        version = store.zone(zoning, of_zones, space_from_json(space), label, base)
        for one in prepared:
            store.writer.files.delete(one.file)
    subscriptions = version.subscriptions
    return {"version": version.number, "label": version.label, "subscriptions": subscriptions}
