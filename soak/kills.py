"""Random kills of the processes of a run, from a seed.

The driver and its Python workers are killed most often, because the test is about their guarantees.
The driver is killed again only after it has recorded a batch decision. No process of the pipeline
is killed if the last batch decision is older than a quarter of the compaction lag, because a
pipeline that is down for longer than the lag may miss changes.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field

from soak.processes import Seen
from soak.scene import Scene

__all__ = ["Kills", "daemons_and_workers"]

_WEIGHTS = {"driver": 40, "workers": 25, "broker": 15, "producer": 10, "receiver": 10}
_QUIET = 0.25  # largest age of the last batch decision, as a share of the compaction lag
_WORKER = "pyspark.worker"  # in the command line of the daemon, which forked workers retain


@dataclass(slots=True)
class Kills:
    """Kills of processes of a scene, counted by kind."""

    scene: Scene
    rng: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    _driver_killed_s: float = 0.0

    def strike(self) -> None:
        """Kill a random process; if there are no Python workers to kill, choose another kind."""
        while True:
            kind = self.rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
            if getattr(self, f"_{kind}")():
                self.counts[kind] += 1
                return

    def _driver(self) -> bool:
        if self.scene.state.newest_s <= self._driver_killed_s:
            self.scene.wait_for_batch(self._driver_killed_s)
            time.sleep(self.rng.uniform(0, 3))  # so that kills hit all phases of a batch
        self._driver_killed_s = time.time()
        self.scene.driver.kill()
        time.sleep(self.rng.uniform(0, 2))
        self.scene.driver.start()
        return True

    def _workers(self) -> bool:
        """Kill one worker, all workers, or the daemon; return whether a process was killed."""
        self._wait_for_batch()
        daemons, workers = daemons_and_workers(self.scene.driver.family())
        one_worker = [self.rng.choice(workers)] if workers else []
        targets = self.rng.choice([one_worker, workers, daemons])
        return sum(process.kill() for process in targets or workers or daemons) > 0

    def _broker(self) -> bool:
        self._wait_for_batch()
        self.scene.broker.kill()
        time.sleep(self.rng.uniform(1, 3))
        self.scene.broker.start()
        return True

    def _wait_for_batch(self) -> None:
        self.scene.wait_for_batch(time.time() - _QUIET * self.scene.asked.lag_s)

    def _producer(self) -> bool:
        self.scene.load.kill()
        time.sleep(self.rng.uniform(0, 1))
        self.scene.load.start()
        return True

    def _receiver(self) -> bool:
        self.scene.receiver.kill()
        time.sleep(self.rng.uniform(0, 1))
        self.scene.receiver.start()
        return True


def daemons_and_workers(family: list[Seen]) -> tuple[list[Seen], list[Seen]]:
    """Return the Python daemons of Spark, and the workers that they have forked."""
    python = {process.number: process for process in family if _WORKER in process.words}
    daemons = [process for process in python.values() if process.parent not in python]
    return daemons, [process for process in python.values() if process.parent in python]
