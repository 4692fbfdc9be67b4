"""Fault injection for stores: kill writers, and change bytes on disk.

Each function creates a store in an empty folder, injects faults one after another, and checks the
answers of the store after each fault. A report contains counts, and a text for every wrong answer.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa

from covey.errors import StoreError
from covey.language import Parser
from covey.space import Events, Space
from covey.store import Changes, Snapshot, Store, TieredMergePolicy

__all__ = ["FlipReport", "KillReport", "flip_bytes", "kill_writers"]

_SPACE = Space.from_types({"x": pa.int64()})
_MERGE_POLICY = TieredMergePolicy(min_level_regions=16, level_factor=2)
_VALUE_COUNT = 100  # values of events and ends of intervals are from 0 to 99
_MARKER_ID = -1  # id of a subscription to the value (number of the last batch + offset)
_MARKER_OFFSET = 1_000_000

ExpectedIntervals = dict[int, tuple[int, int]]
"""Expected content of a store: the interval of each id, both ends included."""


@dataclass(frozen=True, slots=True)
class KillReport:
    """Result of `kill_writers`.

    Args:
        kill_count: number of kills that were requested.
        batch_count: number of batches in the store at the end.
        violations: texts, each with the number of a kill and what was wrong with the store.
    """

    kill_count: int
    batch_count: int
    violations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FlipReport:
    """Result of `flip_bytes`.

    Args:
        detected_count: number of flips after which a query raised `StoreError`.
        harmless_count: number of flips after which all answers were right.
        wrong_answers: texts about the flips after which an answer was wrong.
    """

    detected_count: int
    harmless_count: int
    wrong_answers: tuple[str, ...]


def kill_writers(
    folder: Path, kills: int, *, seed: int = 0, max_delay_s: float = 0.3
) -> KillReport:
    """Kill writers with SIGKILL while they apply batches and merge, and check the store.

    After each kill, the store must open. It must contain all acknowledged batches, at most one
    batch more, and nothing else. The function forks, so call it in a process without other threads.

    Args:
        folder: an empty folder for the store.
        kills: number of kills.
        seed: seed of the batches and delays.
        max_delay_s: longest time, in seconds, for which a writer works before it is killed.

    Cost: up to `max_delay_s` and a few milliseconds for each kill.
    """
    with tempfile.TemporaryDirectory() as scratch:  # forks inherit compiled kernels and modules
        flip_bytes(Path(scratch) / "store", 1)
    rng, batches, violations = random.Random(seed), 0, []
    model: ExpectedIntervals = {}
    Store.create(folder, _SPACE).close()
    for kill in range(kills):
        # On a busy machine a batch may take longer than the delay, so the first writer is killed
        # only after it has written one.
        acknowledged = _run_and_kill_writer(
            folder, batches, seed, rng.uniform(0, max_delay_s), waits_for_batch=kill == 0
        )
        try:
            snapshot = Store.open(folder).snapshot()
            last_batch = _find_last_batch(snapshot)
            if not acknowledged <= last_batch <= acknowledged + 1:
                violations.append(
                    f"kill {kill}: the last batch is {last_batch}, "
                    f"but batch {acknowledged} was the last one acknowledged"
                )
            for number in range(batches + 1, last_batch + 1):
                _apply_batch_to_model(model, number, seed)
            if (difference := _describe_difference(snapshot, model)) is not None:
                violations.append(f"kill {kill}: {difference}")
            batches = last_batch
        except StoreError as error:
            violations.append(f"kill {kill}: {error}")
            break
    return KillReport(kills, batches, tuple(violations))


def flip_bytes(folder: Path, flips: int, *, seed: int = 0) -> FlipReport:
    """Change random bytes in the files of a store, one at a time, and check the store.

    After each change (a flip), the newest version and a random version are queried. Each query must
    return the right answer or raise `StoreError`. Then the byte is restored.

    Args:
        folder: an empty folder for the store.
        flips: number of flips.
        seed: seed of the store's content and of the flips.

    Cost: some milliseconds for each flip.
    """
    rng = random.Random(seed)
    models = _make_store(folder, seed)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    files.sort(key=lambda path: path.stat().st_mtime_ns)  # names differ from run to run
    detected, harmless, wrong = 0, 0, []
    for _ in range(flips):
        path = rng.choice(files)
        offset, change = rng.randrange(path.stat().st_size), rng.randrange(1, 256)
        older = rng.choice(sorted(models))
        with _flip_byte(path, offset, change):
            answers = [_check_answer(folder, None, models[max(models)])]
            answers.append(_check_answer(folder, older, models[older]))
        detected += "detected" in answers
        harmless += set(answers) == {"right"}
        if not set(answers) <= {"right", "detected"}:
            wrong.append(f"byte {offset} of {path.name} ^ {change}: {answers}")
    return FlipReport(detected, harmless, tuple(wrong))


def _run_and_kill_writer(
    folder: Path, last_batch: int, seed: int, delay_s: float, waits_for_batch: bool
) -> int:
    """Fork a writer, kill it after a delay, and return the last acknowledged batch.

    With `waits_for_batch`, the delay begins when the writer has acknowledged its first batch.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _write_forever(folder, last_batch, seed, writing)
    os.close(writing)
    with open(reading, "rb") as acknowledgements:
        numbers = acknowledgements.read(8) if waits_for_batch else b""
        time.sleep(delay_s)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        numbers += acknowledgements.read()
    if not os.WIFSIGNALED(status):
        raise RuntimeError(f"the writer ended before it was killed, with exit code {status >> 8}")
    return int.from_bytes(numbers[-8:], "little") if numbers else last_batch


def _write_forever(folder: Path, last_batch: int, seed: int, acknowledgement_fd: int) -> NoReturn:
    """Apply batches until the process is killed, with merges and vacuums in between.

    The number of each batch is written to `acknowledgement_fd` (8 bytes, little-endian) after the
    store has acknowledged the batch.
    """
    try:
        store, number = Store.open(folder, merge_policy=_MERGE_POLICY), last_batch
        while True:
            number += 1
            store.apply(_make_batch(number, seed))
            os.write(acknowledgement_fd, number.to_bytes(8, "little"))
            if number % 3 == 0:
                store.merge()
            if number % 10 == 0:
                store.vacuum(retain_seconds=0, grace_seconds=0)
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(1)


def _make_batch(number: int, seed: int) -> Changes:
    upserts, removed = _draw_batch(number, seed)
    upserts[_MARKER_ID] = (_MARKER_OFFSET + number, _MARKER_OFFSET + number)
    texts = [f"x BETWEEN {low} AND {high}" for low, high in upserts.values()]
    return Changes.upsert(list(upserts), Parser(_SPACE).parse(texts), removed_ids=removed)


def _apply_batch_to_model(model: ExpectedIntervals, number: int, seed: int) -> None:
    """Apply to the model the changes that batch `number` makes to the store."""
    upserts, removed = _draw_batch(number, seed)
    model.update(upserts)
    for id_ in removed:
        model.pop(id_, None)


def _draw_batch(number: int, seed: int) -> tuple[ExpectedIntervals, list[int]]:
    """Return the intervals that batch `number` upserts, by id, and the ids that it removes."""
    rng = random.Random(f"{seed} {number}")
    ids = rng.sample(range(200), 12)
    ends = [sorted((rng.randrange(_VALUE_COUNT), rng.randrange(_VALUE_COUNT))) for _ in ids[:8]]
    upserts = {id_: (low, high) for id_, (low, high) in zip(ids[:8], ends, strict=True)}
    return upserts, ids[8:]


def _find_last_batch(snapshot: Snapshot) -> int:
    """Return the number of the last batch in a snapshot, or 0 if it has none."""
    rows = snapshot.find_rows([_MARKER_ID])
    if rows[0] < 0:
        return 0
    regions, _ = snapshot.take_regions(rows)
    return int(regions.constraints["x"].batch.lower[0]) - _MARKER_OFFSET  # type: ignore[union-attr]


def _describe_difference(snapshot: Snapshot, model: ExpectedIntervals) -> str | None:
    """Return how a snapshot differs from the model, as a text, or None if they agree."""
    ids = set(snapshot.take_ids(snapshot.rows).to_pylist()) - {_MARKER_ID}
    if ids != set(model):
        return f"ids {sorted(ids ^ set(model))} are missing, or are present although removed"
    events = Events.from_arrow(pa.table({"x": np.arange(_VALUE_COUNT)}), _SPACE)
    answer = sorted(snapshot.match_ids(events))
    expected = sorted((x, id_) for id_, (low, high) in model.items() for x in range(low, high + 1))
    if answer == expected:
        return None
    return f"the {len(answer)} matches differ from the {len(expected)} that are expected"


def _make_store(folder: Path, seed: int) -> dict[int, ExpectedIntervals]:
    """Create a store with several versions, segments and tombstones.

    Returns:
        The expected content of each version.
    """
    models: dict[int, ExpectedIntervals] = {}
    model: ExpectedIntervals = {}
    with Store.create(folder, _SPACE, merge_policy=_MERGE_POLICY) as store:
        for number in range(1, 13):
            version = store.apply(_make_batch(number, seed))
            _apply_batch_to_model(model, number, seed)
            models[version.version] = dict(model)
            if number % 4 == 0 and (merged := store.merge()) is not None:
                models[merged.version] = dict(model)
        store.lease(version.version, 3600)
    return models


@contextmanager
def _flip_byte(path: Path, offset: int, xor_mask: int) -> Iterator[None]:
    content = path.read_bytes()
    damaged = bytearray(content)
    damaged[offset] ^= xor_mask
    path.write_bytes(damaged)
    try:
        yield
    finally:
        path.write_bytes(content)


def _check_answer(folder: Path, version: int | None, model: ExpectedIntervals) -> str:
    try:
        return _describe_difference(Store.open(folder).snapshot(version), model) or "right"
    except StoreError:
        return "detected"
