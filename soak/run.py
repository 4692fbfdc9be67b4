"""One run: everybody is started, killed at random, left in peace until all is done, and checked."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from typing import cast

from soak.check import FAULTS, Report
from soak.kills import Kills
from soak.names import ALERTS, EVENTS, LEDGER, NOTIFICATIONS, STOP
from soak.progress import Progress
from soak.receiver import Ledger
from soak.recorder import recorded
from soak.scene import Asked, Scene
from soak.topics import ends

__all__ = ["faults", "run"]

_FIRST_S = 240.0  # for the first batch of all, on machines that are busy
_STILL_S = 20.0  # without a new notification, then no more will come
_DRAIN_S = 600.0  # without anything new, then something hangs

Result = dict[str, object]


def run(asked: Asked) -> Result:
    """What happened, and what the checker says to it."""
    started, rng = time.monotonic(), random.Random(asked.seed)
    with Scene(asked) as scene:
        kills = Kills(scene, rng)
        with Progress(kills) as progress:
            scene.wait_for_batch(0.0, _FIRST_S)
            while not progress.is_enough:
                time.sleep(rng.uniform(0, 2 * asked.pause_s))
                scene.keep_up()
                kills.strike()
            (asked.folder / STOP).touch()
            _drain(scene)
            code = scene.end_pipeline()
        report = _checked(scene)
    return {
        **report,
        "kills": kills.counts.total(),
        "kills_by_kind": dict(kills.counts),
        "driver_starts": scene.driver.starts,
        "driver_ends": scene.driver_ends,
        "driver_code": code,
        "batches": scene.state.batches,
        "longest_gap_s": round(progress.longest_gap_s, 1),
        "seconds": round(time.monotonic() - started, 1),
    }


def faults(result: Result, asked: Asked) -> list[str]:
    """Why a run failed; nothing if it did not.

    A pipeline without a batch for longer than compaction waits may lose without being wrong: such
    a run shows nothing.
    """
    found = [f"{result[name]} {name}" for name in FAULTS if result[name]]
    if cast(int, result["kills"]) < asked.kills:
        found.append(f"{result['kills']} kills of {asked.kills}")
    if cast(float, result["longest_gap_s"]) > asked.lag_s:
        gap = f"{result['longest_gap_s']} s without a batch"
        found.append(f"{gap}, but compaction waits {asked.lag_s} s only")
    if not result["compacted"]:
        found.append("compaction removed nothing")
    if not result["expected"]:
        found.append("nobody had to be notified")
    return found


def _drain(scene: Scene) -> None:
    """Waits until all events are in batches that are done, and everybody read to the end."""
    before, since = None, time.monotonic()
    while True:
        scene.keep_up()
        servers, folder = scene.broker.address, scene.asked.folder
        there = {name: ends(servers, name) for name in (EVENTS, ALERTS, NOTIFICATIONS)}
        done = scene.state.done(EVENTS)
        now = (there, done, reached := Ledger(folder / LEDGER).reached(), recorded(folder))
        if now != before:
            before, since = now, time.monotonic()
        is_all = scene.load.code == 0 and all(
            read.get(number, 0) >= end
            for name, read in ((EVENTS, done), (NOTIFICATIONS, reached), (ALERTS, now[3]))
            for number, end in there[name].items()
        )
        if is_all and time.monotonic() - since > _STILL_S:
            return
        if time.monotonic() - since > _DRAIN_S:
            raise RuntimeError(f"nothing new, at {now}; the driver said:\n{scene.driver.said()}")
        time.sleep(2.0)


def _checked(scene: Scene) -> Report:
    """What the checker says: a process of its own, which nothing of covey is in."""
    where = [f"--servers={scene.broker.address}", f"--folder={scene.asked.folder}"]
    words = [sys.executable, "-m", "soak.check", *where]
    said = subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout
    report: Report = json.loads(said)
    return report
