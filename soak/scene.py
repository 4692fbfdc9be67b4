"""The processes of a run: the server, the producers, the recorder, the receiver, the pipeline.

All that is started here is gone when the run is over, however it ended.
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

_END_S = 120.0  # for a pipeline to end its batch
_LEFT_S = 30.0  # for what a killed process started to find out that it is gone


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run is to be; `driver` is a command, to which the path of the config is added."""

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
    """Everybody at work; entered it is started, left it is ended."""

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
            raise FileExistsError(f"{folder} is not empty: a run begins with nothing")
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
        """Starts a pipeline again that ended by itself; nobody else may."""
        for child in (self.recorder, self.receiver, self.load):
            if child.code is not None and (child is not self.load or child.code != 0):
                raise RuntimeError(f"{child.words[2]} ended with {child.code}:\n{child.said()}")
        if self.driver.code is not None:
            self.driver_ends += 1
            time.sleep(1.0)
            self.driver.start()

    def wait_for_batch(self, since_s: float, seconds: float = 120.0) -> None:
        """Waits until a batch was put on record after a time; fails with what the driver said."""
        until = time.monotonic() + seconds
        while self.state.newest_s <= since_s:
            if time.monotonic() > until:
                raise RuntimeError(f"no new batch in {seconds:.0f} s:\n{self.driver.said()}")
            self.keep_up()
            time.sleep(0.2)

    def end_pipeline(self) -> int | None:
        """Asks the pipeline to end; its exit code, or none if it had to be killed."""
        return self.driver.end(_END_S)

    def end(self) -> None:
        """Ends all, the server last; processes that outlived the pipeline are killed."""
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
