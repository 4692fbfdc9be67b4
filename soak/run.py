"""One run: processes are started and killed at random, events are drained, and logs are checked."""

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

_FIRST_S = 240.0  # limit for the first batch, on busy machines
_STILL_S = 20.0  # time without a change after which no more notifications are expected
_DRAIN_S = 600.0  # time without a change after which the run has failed

Result = dict[str, object]


def run(asked: Asked) -> Result:
    """Carry out a run, and return the checker's report with further figures."""
    start, rng = time.monotonic(), random.Random(asked.seed)
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
        "seconds": round(time.monotonic() - start, 1),
    }


def faults(result: Result, asked: Asked) -> list[str]:
    """Return the reasons why a run failed; empty if it did not.

    A pipeline without a batch for longer than the compaction lag may lose events without a fault,
    so such a run proves nothing.
    """
    reasons = [f"{result[name]} {name}" for name in FAULTS if result[name]]
    if cast(int, result["kills"]) < asked.kills:
        reasons.append(f"{result['kills']} kills of {asked.kills}")
    if cast(float, result["longest_gap_s"]) > asked.lag_s:
        gap = f"{result['longest_gap_s']} s without a batch"
        reasons.append(f"{gap}, but log compaction waits only {asked.lag_s} s")
    if not result["compacted"]:
        reasons.append("log compaction removed no record")
    if not result["expected"]:
        reasons.append("no notification was required")
    return reasons


def _drain(scene: Scene) -> None:
    """Wait until all events are in committed batches, and all readers have read to the end.

    Raises:
        RuntimeError: nothing changed for `_DRAIN_S` seconds.
    """
    previous, since = None, time.monotonic()
    while True:
        scene.keep_up()
        servers, folder = scene.broker.address, scene.asked.folder
        log_ends = {name: ends(servers, name) for name in (EVENTS, ALERTS, NOTIFICATIONS)}
        done = scene.state.done(EVENTS)
        reached, copied = Ledger(folder / LEDGER).reached(), recorded(folder)
        current = (log_ends, done, reached, copied)
        if current != previous:
            previous, since = current, time.monotonic()
        is_done = scene.load.code == 0 and all(
            read.get(number, 0) >= end
            for name, read in ((EVENTS, done), (NOTIFICATIONS, reached), (ALERTS, copied))
            for number, end in log_ends[name].items()
        )
        if is_done and time.monotonic() - since > _STILL_S:
            return
        if time.monotonic() - since > _DRAIN_S:
            raise RuntimeError(
                f"nothing has changed for {_DRAIN_S:.0f} s at {current}; log of the driver:\n"
                f"{scene.driver.said()}"
            )
        time.sleep(2.0)


def _checked(scene: Scene) -> Report:
    """Run the checker in a separate process, without code of covey, and return its report."""
    options = [f"--servers={scene.broker.address}", f"--folder={scene.asked.folder}"]
    words = [sys.executable, "-m", "soak.check", *options]
    output = subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout
    report: Report = json.loads(output)
    return report
