"""Models of a workload's boxes on Spark, with or without zones: fit, match, size on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from benchmarks.on_spark.session import drain
from benchmarks.on_spark.tables import Tables
from covey.spark import Matcher, MatcherModel
from covey.workload import create_workload

__all__ = ["fitted", "matched", "stored_mb"]


def fitted(tables: Tables, workload: str, stored: int, sampled: int, **params: Any) -> MatcherModel:
    """Return a model of `stored` boxes of a workload.

    Args:
        tables: tables of subscriptions and events.
        workload: name of the workload.
        stored: number of boxes.
        sampled: number of events from which zones are built.
        params: parameters of `Matcher`; `zones` is required.
    """
    ends = {a.name: (f"{a.name}_low", f"{a.name}_high") for a in create_workload(workload).space}
    sample = tables.events(workload, sampled)
    matcher = Matcher(eventSchema=sample.schema, rangeCols=ends, eventCols=["event_id"], **params)
    is_zoned = params["zones"] != 1
    return matcher.fit(tables.ranges(workload, stored), events=sample if is_zoned else None)


def matched(model: MatcherModel, events: DataFrame) -> None:
    """Match all events and discard the pairs."""
    drain(model.transform(events))


def stored_mb(place: Path) -> int:
    """Return the size of the segments of a saved model in MiB; `place` is its folder."""
    return round(sum(p.stat().st_size for p in (place / "store/files").iterdir()) / 2**20)
