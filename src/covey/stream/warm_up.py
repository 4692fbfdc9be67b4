"""Warm-up: one small match in the worker daemon, so that forked workers inherit loaded kernels.

A match uses dozens of kernels, and loading one takes about ten milliseconds. The daemon loads all
kernels once, and the workers that are forked from it inherit them.
"""

from __future__ import annotations

from tempfile import TemporaryDirectory

import pyarrow as pa

from covey.space import Space
from covey.spark.validity import with_validity
from covey.store import IdKind, Store
from covey.stream.batches.version_source import FixedVersion
from covey.stream.control.change_translator import ChangeTranslator
from covey.stream.control.messages import SubscriptionChange
from covey.stream.events.dead_letters import DeadLetterFormatter
from covey.stream.events.notify_task import NotifyTask, OutputTopics

__all__ = ["warm_up_worker"]

_SUBSCRIPTIONS, _CHANGED_SUBSCRIPTIONS, _EVENTS = (
    3000,
    100,
    100,
)  # enough for several nodes of the index and several segments


def warm_up_worker() -> None:
    """Match 100 events with a small store in a temporary folder, which loads all kernels.

    Cost: about a second, plus the time for compilation if the kernels are not in the cache.
    """
    space = with_validity(Space.from_types({"a": pa.float64(), "b": pa.string()}))
    with TemporaryDirectory(prefix="covey-warm-") as folder:
        with Store.create(f"{folder}/store", space, id_kind=IdKind.TEXT) as store:
            for count in (_SUBSCRIPTIONS, _CHANGED_SUBSCRIPTIONS):
                changes = ChangeTranslator(0).translate(store.snapshot(), _build_changes(count), 0)
                store.apply(changes.store_changes)
            version = FixedVersion.from_snapshot(f"{folder}/store", store.snapshot())
        notify = NotifyTask(
            version, {"a": 4, "b": 5}, DeadLetterFormatter("json", ()), OutputTopics("", "")
        )
        for _ in notify(iter([_build_events()])):
            pass


def _build_changes(count: int) -> list[SubscriptionChange]:
    return [
        SubscriptionChange(f"s{i}", count, "", f"a > {i} AND a <= {i + 9}.5 AND b = 'b{i % 9}'")
        for i in range(count)
    ]


def _build_events() -> pa.RecordBatch:
    count = _EVENTS
    return pa.RecordBatch.from_arrays(
        [
            pa.array([f"e{i}" for i in range(count)]),
            pa.nulls(count),
            pa.array([10**9] * count, pa.timestamp("us", "UTC")),
            pa.nulls(count, pa.string()),
            pa.array([float(i) for i in range(count)]),
            pa.array([f"b{i % 9}" for i in range(count)]),
        ],
        names=[f"c{i}" for i in range(6)],
    )
