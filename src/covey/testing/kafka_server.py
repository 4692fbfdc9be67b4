"""A Kafka server of one's own, on loopback, that tests and benchmarks start, kill and start again.

What it needs is in a folder of jars: `make kafka` fetches them to `.kafka`. Its data stays in a
folder of the caller's, so that a server that was killed comes back with all that it acknowledged.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

__all__ = ["KafkaServer"]

_TIMEOUT_S = 180.0  # to start, on machines that are busy
_CLUSTER_ID = "covey-tests-cluster-00"  # 22 characters, as Kafka wants


@dataclass(slots=True)
class KafkaServer:
    """One server in KRaft mode, broker and controller at once.

    >>> KafkaServer(Path("jars"), Path("data"), 19092, 19093).address
    '127.0.0.1:19092'
    """

    jars_folder: Path
    data_folder: Path
    port: int
    controller_port: int
    java_options: tuple[str, ...] = ("-Xmx512m",)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False, repr=False)

    @classmethod
    def on_free_ports(
        cls, jars_folder: Path, data_folder: Path, *, is_short_lived: bool = False
    ) -> KafkaServer:
        """Return a server that is not started, on ports that nobody has now.

        Java compiles less for a server that is short-lived, which then starts sooner.
        """
        port, controller_port = _find_free_ports()
        less = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC") if is_short_lived else ()
        return cls(jars_folder, data_folder, port, controller_port, ("-Xmx512m", *less))

    @property
    def address(self) -> str:
        """Where clients find it."""
        return f"127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def __enter__(self) -> KafkaServer:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Starts it, and waits until it answers; its data is made, or found as it was left."""
        if not any(self.jars_folder.glob("kafka_2.13-*.jar")):
            raise FileNotFoundError(f"no Kafka in {self.jars_folder}: `make kafka` fetches it")
        properties = self.data_folder / "server.properties"
        if not properties.exists():
            self.data_folder.mkdir(parents=True, exist_ok=True)
            properties.write_text(self._format_properties(), encoding="utf-8")
            format_ = [
                "kafka.tools.StorageTool",
                "format",
                "-t",
                _CLUSTER_ID,
                "-c",
                str(properties),
            ]
            subprocess.run(self._java_command(*format_), check=True, capture_output=True)
        with (self.data_folder / "log").open("ab") as log:
            words = self._java_command("kafka.Kafka", str(properties))
            self._process = subprocess.Popen(words, stdout=log, stderr=log)
        self._wait_until_ready()

    def kill(self) -> None:
        """Ends it at once, as a power cut would end its process: what is not written is lost."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def create_topic(self, topic: str, partitions: int = 1, **topic_config: str) -> None:
        """Makes a topic, and waits until it is there; an option is spelled with `_` for dots."""
        options = {name.replace("_", "."): value for name, value in topic_config.items()}
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=options)
        admin = self._connect_admin()  # lives until the topic does
        admin.create_topics([new])[topic].result(_TIMEOUT_S)

    def _connect_admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.address, "log_level": 0})

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + _TIMEOUT_S
        while True:
            try:
                self._connect_admin().list_topics(timeout=1.0)
                return
            except KafkaException:
                if not self.is_running or time.monotonic() > until:
                    self.kill()
                    said = (self.data_folder / "log").read_text(errors="replace")[-2000:]
                    raise RuntimeError(f"Kafka did not start:\n{said}") from None

    def _java_command(self, *arguments: str) -> list[str]:
        java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
        return [str(java), *self.java_options, "-cp", f"{self.jars_folder}/*", *arguments]

    def _format_properties(self) -> str:
        """One node; topics are made on purpose; nothing waits for others that do not exist."""
        return "\n".join(
            [
                "process.roles=broker,controller",
                "node.id=1",
                f"listeners=PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{self.controller_port}",
                "controller.listener.names=CONTROLLER",
                f"controller.quorum.voters=1@127.0.0.1:{self.controller_port}",
                f"log.dirs={self.data_folder / 'data'}",
                "auto.create.topics.enable=false",
                "offsets.topic.replication.factor=1",
                "offsets.topic.num.partitions=1",
                "transaction.state.log.replication.factor=1",
                "transaction.state.log.min.isr=1",
                "transaction.state.log.num.partitions=1",
                "transaction.abort.timed.out.transaction.cleanup.interval.ms=1000",
                "group.initial.rebalance.delay.ms=0",
                "log.cleaner.backoff.ms=1000",
                "log.retention.check.interval.ms=5000",
                "",
            ]
        )


def _find_free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]
