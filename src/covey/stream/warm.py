"""A first match of a few events, so that workers begin with all that they use: compiled loops.

To load one takes some ten milliseconds, and there are dozens. The process that workers are forked
from does it once for all of them.
"""

from __future__ import annotations

from tempfile import TemporaryDirectory

import pyarrow as pa

from covey.space import Space
from covey.spark.lifetimes import with_lifetime
from covey.store import IdKind, Store
from covey.stream.history import Historian
from covey.stream.messages import Change
from covey.stream.notices import Notices, Topics
from covey.stream.unreadable import Unreadable
from covey.stream.versions import Named

__all__ = ["warm"]

_SUBSCRIPTIONS, _CHANGED, _EVENTS = 3000, 100, 100  # enough for more than one node and segment


def warm() -> None:
    """Matches once, in a folder that goes.

    Cost: about a second, and as long as compiling takes where nothing was compiled yet.
    """
    space = with_lifetime(Space.of({"a": pa.float64(), "b": pa.string()}))
    with TemporaryDirectory(prefix="covey-warm-") as folder:
        with Store.create(f"{folder}/store", space, ids=IdKind.TEXT) as store:
            for count in (_SUBSCRIPTIONS, _CHANGED):
                applied = Historian(0).applied(store.snapshot(), _changes(count), 0)
                store.apply(applied.changes)
            version = Named.of(f"{folder}/store", store.snapshot())
        notices = Notices(version, {"a": 4, "b": 5}, Unreadable("json", ()), Topics("", ""))
        for _ in notices(iter([_events()])):
            pass


def _changes(count: int) -> list[Change]:
    return [
        Change(f"s{i}", count, "", f"a > {i} AND a <= {i + 9}.5 AND b = 'b{i % 9}'")
        for i in range(count)
    ]


def _events() -> pa.RecordBatch:
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
