"""Faults on purpose: writers that are killed, and bytes that change on disk.

Each driver makes a store in an empty folder, does it harm many times, and checks after each time
that the store says what it must. Reports count what happened; what must not happen is listed.
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
from covey.store import Changes, Snapshot, Store, Tiers

__all__ = ["FlipReport", "KillReport", "flip_bytes", "kill_writers"]

_SPACE = Space.of({"x": pa.int64()})
_TIERS = Tiers(smallest=16, factor=2)
_PLACES = 100  # events and intervals lie in [0, 100)
_MARKER = -1  # the id of a subscription that tells the number of the last batch
_FIRST_MARK = 1_000_000

Model = dict[int, tuple[int, int]]
"""What a store must hold: of every id its interval."""


@dataclass(frozen=True, slots=True)
class KillReport:
    """`batches` were acknowledged in all; `lost` says what was not there after which kill."""

    kills: int
    batches: int
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FlipReport:
    """Flips that raised `StoreError`, that changed no answer, and that did (`wrong`)."""

    detected: int
    harmless: int
    wrong: tuple[str, ...]


def kill_writers(folder: Path, kills: int, seed: int = 0, most_seconds: float = 0.3) -> KillReport:
    """Kills a process with SIGKILL while it applies batches and merges, again and again.

    After each kill the store must open, with all batches that were acknowledged, at most one more,
    and nothing else. Forks, so call it where no other threads run.

    Cost: up to `most_seconds` a kill, and a few milliseconds.
    """
    with tempfile.TemporaryDirectory() as scratch:  # what it compiles and loads, forks inherit
        flip_bytes(Path(scratch) / "store", 1)
    rng, batches, lost = random.Random(seed), 0, []
    model: Model = {}
    Store.create(folder, _SPACE).close()
    for kill in range(kills):
        # On a busy machine a batch may take longer than that: one at least is waited for.
        acknowledged = _killed_writer(
            folder, batches, seed, rng.uniform(0, most_seconds), has_batch=kill == 0
        )
        try:
            snapshot = Store.open(folder).snapshot()
            there = _last_batch(snapshot)
            if not acknowledged <= there <= acknowledged + 1:
                lost.append(f"kill {kill}: batch {there} is the last, {acknowledged} was promised")
            for number in range(batches + 1, there + 1):
                _change(model, number, seed)
            if (difference := _difference(snapshot, model)) is not None:
                lost.append(f"kill {kill}: {difference}")
            batches = there
        except StoreError as error:
            lost.append(f"kill {kill}: {error}")
            break
    return KillReport(kills, batches, tuple(lost))


def flip_bytes(folder: Path, flips: int, seed: int = 0) -> FlipReport:
    """Changes one byte of some file of a store, asks the store, and changes it back; many times.

    Asked are the newest version and one other: each must answer right, or raise `StoreError`.

    Cost: some milliseconds a flip.
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
        with _flipped(path, offset, change):
            answers = [_answer(folder, None, models[max(models)])]
            answers.append(_answer(folder, older, models[older]))
        detected += "detected" in answers
        harmless += set(answers) == {"right"}
        if not set(answers) <= {"right", "detected"}:
            wrong.append(f"byte {offset} of {path.name} ^ {change}: {answers}")
    return FlipReport(detected, harmless, tuple(wrong))


def _killed_writer(folder: Path, done: int, seed: int, seconds: float, has_batch: bool) -> int:
    """Let a process write for some time, kill it, and return the last batch it acknowledged.

    With `has_batch`, the time counts from its first batch on.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _write_for_ever(folder, done, seed, writing)
    os.close(writing)
    with open(reading, "rb") as acknowledgements:
        numbers = acknowledgements.read(8) if has_batch else b""
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        numbers += acknowledgements.read()
    if not os.WIFSIGNALED(status):
        raise RuntimeError(f"the writer ended by itself, with exit code {status >> 8}")
    return int.from_bytes(numbers[-8:], "little") if numbers else done


def _write_for_ever(folder: Path, done: int, seed: int, acknowledgements: int) -> NoReturn:
    """Applies batches, telling each when it is acknowledged; merges and collects in between."""
    try:
        store, number = Store.open(folder, tiers=_TIERS), done
        while True:
            number += 1
            store.apply(_batch(number, seed))
            os.write(acknowledgements, number.to_bytes(8, "little"))
            if number % 3 == 0:
                store.merge()
            if number % 10 == 0:
                store.collect(keep_seconds=0, grace_seconds=0)
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(1)


def _batch(number: int, seed: int) -> Changes:
    put, removed = _drawn(number, seed)
    put[_MARKER] = (_FIRST_MARK + number, _FIRST_MARK + number)
    texts = [f"x BETWEEN {low} AND {high}" for low, high in put.values()]
    return Changes.put(list(put), Parser(_SPACE).parse(texts), removed)


def _change(model: Model, number: int, seed: int) -> None:
    """Does to a model what a batch does to a store."""
    put, removed = _drawn(number, seed)
    model.update(put)
    for id_ in removed:
        model.pop(id_, None)


def _drawn(number: int, seed: int) -> tuple[Model, list[int]]:
    """What batch `number` puts and removes."""
    rng = random.Random(f"{seed} {number}")
    ids = rng.sample(range(200), 12)
    ends = [sorted((rng.randrange(_PLACES), rng.randrange(_PLACES))) for _ in ids[:8]]
    put = {id_: (low, high) for id_, (low, high) in zip(ids[:8], ends, strict=True)}
    return put, ids[8:]


def _last_batch(snapshot: Snapshot) -> int:
    """The number of the last batch that a version has, 0 if none."""
    rows = snapshot.find([_MARKER])
    if rows[0] < 0:
        return 0
    regions, _ = snapshot.regions(rows)
    return int(regions.constraints["x"].batch.lower[0]) - _FIRST_MARK  # type: ignore[union-attr]


def _difference(snapshot: Snapshot, model: Model) -> str | None:
    """How the answers of a version differ from what they must be, if they do."""
    found = set(snapshot.ids(snapshot.rows).to_pylist()) - {_MARKER}
    if found != set(model):
        return f"ids {sorted(found ^ set(model))} are missing, or there though they were removed"
    events = Events.from_arrow(pa.table({"x": np.arange(_PLACES)}), _SPACE)
    rows, ids = snapshot.notifications(events)
    answer = sorted(zip(rows.tolist(), ids.to_pylist(), strict=True))
    right = sorted((x, id_) for id_, (low, high) in model.items() for x in range(low, high + 1))
    return None if answer == right else f"{len(answer)} notifications, not the {len(right)} right"


def _make_store(folder: Path, seed: int) -> dict[int, Model]:
    """A store with some versions, segments and tombstones; and what each version must hold."""
    models: dict[int, Model] = {}
    model: Model = {}
    with Store.create(folder, _SPACE, tiers=_TIERS) as store:
        for number in range(1, 13):
            version = store.apply(_batch(number, seed))
            _change(model, number, seed)
            models[version.number] = dict(model)
            if number % 4 == 0 and (merged := store.merge()) is not None:
                models[merged.number] = dict(model)
        store.lease(version.number, 3600)
    return models


@contextmanager
def _flipped(path: Path, offset: int, change: int) -> Iterator[None]:
    content = path.read_bytes()
    harmed = bytearray(content)
    harmed[offset] ^= change
    path.write_bytes(harmed)
    try:
        yield
    finally:
        path.write_bytes(content)


def _answer(folder: Path, version: int | None, model: Model) -> str:
    try:
        return _difference(Store.open(folder).snapshot(version), model) or "right"
    except StoreError:
        return "detected"
