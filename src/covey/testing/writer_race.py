"""Race of several processes that change the same store at the same time.

Each writer adds subscriptions with ids of its own, removes some of them again, and merges from time
to time. Afterwards the store must contain exactly what was acknowledged. On a local file system,
only one writer at a time can have the store open, so each closes it after every batch.
"""

from __future__ import annotations

import multiprocessing
import random
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from covey.errors import StoreError
from covey.language import Parser
from covey.space import Events, Space
from covey.store import Changes, Store, TieredMergePolicy
from covey.store.storage import open_storage

__all__ = ["RaceReport", "race_writers"]

_SPACE = Space.from_types({"x": pa.int64()})
_MERGE_POLICY = TieredMergePolicy(min_level_regions=16, level_factor=4)
_REMOVED_AFTER = 3  # batches after which a subscription is removed
_MERGED_EVERY = 8  # batches after which a writer merges
_MAX_PAUSE_S = 0.02  # longest pause after a refusal
_DEADLINE_S = 600.0  # time after which a writer that is always refused gives up


@dataclass(frozen=True, slots=True)
class RaceReport:
    """Result of `race_writers`.

    Args:
        acknowledged: number of batches that the store acknowledged.
        refused: number of attempts that the store refused, and that were repeated.
        lost: ids that were added by an acknowledged batch and are missing, or that were removed by
            one and are present.
        duplicates: version numbers that were acknowledged more than once.
        seconds: time from the first batch of a writer to the last one.
    """

    acknowledged: int
    refused: int
    lost: tuple[int, ...]
    duplicates: tuple[int, ...]
    seconds: float


def race_writers(location: str, writer_count: int, batch_count: int) -> RaceReport:
    """Create a store, change it from several processes at the same time, and check its content.

    Args:
        location: where the store is created; there must not be one yet.
        writer_count: number of processes.
        batch_count: number of batches of each process.
    """
    Store.create(location, _SPACE).close()
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        start = manager.Barrier(writer_count)
        with ProcessPoolExecutor(writer_count, mp_context=context) as pool:
            write = partial(_write, location, batch_count, start)
            results = list(pool.map(write, range(writer_count)))
    versions = Counter(version for written, _, _, _ in results for version in written)
    expected = {
        writer * batch_count + batch
        for writer in range(writer_count)
        for batch in range(batch_count)[-_REMOVED_AFTER:]
    }
    events = Events.from_arrow(pa.table({"x": pa.array([0], pa.int64())}), _SPACE)
    found = {int(id_) for _, id_ in Store.open(location).snapshot().match_ids(events)}
    return RaceReport(
        versions.total(),
        sum(refused for _, refused, _, _ in results),
        tuple(sorted(expected ^ found)),
        tuple(sorted(version for version, count in versions.items() if count > 1)),
        max(end for _, _, _, end in results) - min(start for _, _, start, _ in results),
    )


def _write(
    location: str, batch_count: int, start: threading.Barrier, writer: int
) -> tuple[list[int], int, float, float]:
    """Change the store.

    Returns:
        The versions that were acknowledged, the number of refused attempts, and the times at which
        the writer began and ended, in seconds.
    """
    is_local = open_storage(location).local_path("") is not None
    versions: list[int] = []
    refused = 0
    parser, first_id = Parser(_SPACE), writer * batch_count
    store = Store.open(location, merge_policy=_MERGE_POLICY)
    start.wait()
    began = time.time()
    for batch in range(batch_count):
        removed = [first_id + batch - _REMOVED_AFTER] if batch >= _REMOVED_AFTER else []
        regions = parser.parse(["x >= 0"])
        changes = Changes.upsert([first_id + batch], regions, removed_ids=removed)
        until = time.monotonic() + _DEADLINE_S
        while True:
            try:
                versions.append(store.apply(changes).version)
                break
            except StoreError:
                if time.monotonic() > until:
                    raise
                refused += 1
                time.sleep(random.uniform(0, _MAX_PAUSE_S))
        if batch % _MERGED_EVERY == 0:
            store.merge()
        if is_local:
            store.close()
    ended = time.time()
    store.close()
    return versions, refused, began, ended
