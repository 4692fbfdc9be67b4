"""The processes of a run: the server, the producers, the recorder, the receiver, the pipeline.

All processes that are started here have ended when the run is over, even if it fails.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from covey.testing.kafka_server import KafkaServer
from soak.config import create_topics, write_config
from soak.names import STATE
from soak.processes import Child
from soak.state import State

__all__ = ["Asked", "Scene"]

_END_S = 120.0  # limit for a pipeline to end its batch
_LEFT_S = 30.0  # limit for descendants of a killed process to end


@dataclass(frozen=True, slots=True)
class Asked:
    """Options of a run, as on the command line.

    `driver` is a command to which the path of the config file is appended.
    """

    events: int
    changes: int
    kills: int
    seed: int
    folder: Path
    rate: float
    pause_s: float
    lag_s: float
    driver: Sequence[str]
    jars: str
    kafka: Path


@dataclass(slots=True)
class Scene:
    """All processes of a run, as a context manager that starts and ends them."""

    asked: Asked
    broker: KafkaServer = field(init=False)
    driver: Child = field(init=False)
    load: Child = field(init=False)
    recorder: Child = field(init=False)
    receiver: Child = field(init=False)
    state: State = field(init=False)
    driver_ends: int = 0

    def __post_init__(self) -> None:
        asked, folder = self.asked, self.asked.folder
        self.broker = KafkaServer.on_free_ports(asked.kafka, folder / "kafka")
        self.state = State(folder / STATE)
        sizes = [f"--events={asked.events}", f"--changes={asked.changes}"]
        self.load = self._own("load", *sizes, f"--rate={asked.rate}", f"--seed={asked.seed}")
        self.recorder = self._own("recorder")
        self.receiver = self._own("receiver")
        words = [*asked.driver, str(folder / "stream.toml")]
        environment = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        self.driver = Child(words, folder / "driver.log", environment)

    def __enter__(self) -> Scene:
        folder = self.asked.folder
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise FileExistsError(f"folder {folder} is not empty: choose an empty or new folder")
        try:
            self.broker.start()
            create_topics(self.broker, self.asked.lag_s)
            write_config(folder / "stream.toml", self.broker.address, folder, self.asked.jars)
            for child in (self.recorder, self.load, self.receiver, self.driver):
                child.start()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def keep_up(self) -> None:
        """Restart the pipeline if it has ended; raise RuntimeError if another one ended early."""
        for child in (self.recorder, self.receiver, self.load):
            if child.code is not None and (child is not self.load or child.code != 0):
                raise RuntimeError(
                    f"{child.words[2]} has ended with exit code {child.code}:\n{child.said()}"
                )
        if self.driver.code is not None:
            self.driver_ends += 1
            time.sleep(1.0)
            self.driver.start()

    def wait_for_batch(self, since_s: float, seconds: float = 120.0) -> None:
        """Wait for a batch decision after a time, in seconds since 1970.

        Raises:
            RuntimeError: there was none within `seconds`; the message has the end of the log.
        """
        until = time.monotonic() + seconds
        while self.state.newest_s <= since_s:
            if time.monotonic() > until:
                raise RuntimeError(
                    f"no new batch decision in {seconds:.0f} s:\n{self.driver.said()}"
                )
            self.keep_up()
            time.sleep(0.2)

    def end_pipeline(self) -> int | None:
        """End the pipeline, and return its exit code, or None if it had to be killed."""
        return self.driver.end(_END_S)

    def end(self) -> None:
        """End all processes, the server last; kill processes that outlive the pipeline."""
        self.driver.kill()
        for child in (self.load, self.receiver, self.recorder):
            child.end(5.0)
        self.broker.kill()
        self.driver.clear(_LEFT_S)

    def _own(self, name: str, *words: str) -> Child:
        folder = self.asked.folder
        common = [f"--servers={self.broker.address}", f"--folder={folder}"]
        return Child(
            [sys.executable, "-m", f"soak.{name}", *common, *words], folder / f"{name}.log"
        )
