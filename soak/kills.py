"""Who is killed, and when: drawn at random, from a seed.

Most often the driver and its Python workers, because what they must not lose is what is tested.
The driver is killed again only after it put a batch on record, and nobody of the pipeline is
killed while it has not done so for a quarter of the time that compaction waits: a pipeline that is
down for longer than all of it cannot be right.
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
_QUIET = 0.25  # of the time that compaction waits
_WORKER = "pyspark.worker"  # what a daemon is told to fork, and forks keep of its words


@dataclass(slots=True)
class Kills:
    """Kills in a scene, counted by kind."""

    scene: Scene
    rng: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    _driver_killed_s: float = 0.0

    def strike(self) -> None:
        """One kill, of someone who is there: without Python workers another is chosen."""
        while True:
            kind = self.rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
            if getattr(self, f"_{kind}")():
                self.counts[kind] += 1
                return

    def _driver(self) -> bool:
        if self.scene.state.newest_s <= self._driver_killed_s:
            self.scene.wait_for_batch(self._driver_killed_s)
            time.sleep(self.rng.uniform(0, 3))  # else it is always the same moment of a batch
        self._driver_killed_s = time.time()
        self.scene.driver.kill()
        time.sleep(self.rng.uniform(0, 2))
        self.scene.driver.start()
        return True

    def _workers(self) -> bool:
        """One worker, all of them, or the daemon that starts them."""
        self._wait_for_batch()
        daemons, workers = daemons_and_workers(self.scene.driver.family())
        one = [self.rng.choice(workers)] if workers else []
        struck = self.rng.choice([one, workers, daemons])
        return sum(seen.kill() for seen in struck or workers or daemons) > 0

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
    """Python processes of Spark: the daemon, which the JVM starts, and its forks."""
    found = {seen.number: seen for seen in family if _WORKER in seen.words}
    daemons = [seen for seen in found.values() if seen.parent not in found]
    return daemons, [seen for seen in found.values() if seen.parent in found]
