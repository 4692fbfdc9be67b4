"""Private Kafka server on loopback that tests and benchmarks start, kill and restart.

It runs from a folder of jars, which `make kafka` downloads to `.kafka`. The caller names the folder
of its data. A server that was killed can be restarted with this folder; it still has all messages
that it had acknowledged.

`python -m covey.testing.kafka_server .kafka kafka-data` runs one until it is stopped, to try a
stream on this machine.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

__all__ = ["KafkaServer"]

_TIMEOUT_S = 180.0  # for a start, which is slow on a busy machine, and for the creation of a topic
_CLUSTER_ID = "covey-tests-cluster-00"  # Kafka requires 22 characters


@dataclass(slots=True)
class KafkaServer:
    """Single Kafka server in KRaft mode: one process is both server and controller.

    Args:
        jars_folder: folder with the jars of Kafka.
        data_folder: folder of configuration, data and log; the first start creates it.
        port: port for clients on 127.0.0.1.
        controller_port: port of the controller on 127.0.0.1.
        java_options: options of the Java process.

    A `with` block starts the server on entry, and kills it on exit.

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
        """Return a server on ports that are free now; the caller starts it.

        Args:
            jars_folder: folder with the jars of Kafka.
            data_folder: folder of configuration, data and log.
            is_short_lived: whether the server is only needed for a short time. Java then compiles
                less, so that the server starts sooner.
        """
        port, controller_port = _find_free_ports()
        quick_start = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC") if is_short_lived else ()
        return cls(jars_folder, data_folder, port, controller_port, ("-Xmx512m", *quick_start))

    @property
    def address(self) -> str:
        """Host and port for clients, in the form of the option `bootstrap.servers`."""
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
        """Start the server and wait until it answers.

        The first start formats the data folder; later starts continue with its data.

        Raises:
            FileNotFoundError: the jars or Java are missing.
            CalledProcessError: the data folder cannot be formatted.
            RuntimeError: the server ended, or did not answer within 180 seconds.
        """
        if not any(self.jars_folder.glob("kafka_2.13-*.jar")):
            raise FileNotFoundError(
                f"{self.jars_folder} contains no jar of Kafka: run `make kafka` to download it"
            )
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
            command = self._java_command("kafka.Kafka", str(properties))
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        self._wait_until_ready()

    def kill(self) -> None:
        """Kill the server with SIGKILL: data in its memory that it has not written is lost."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def wait(self) -> None:
        """Wait until the server ends."""
        if self._process is not None:
            self._process.wait()

    def create_topic(self, topic: str, partitions: int = 1, **topic_config: str) -> None:
        """Create a topic and wait until it exists.

        Args:
            topic: name of the topic.
            partitions: number of partitions.
            topic_config: Kafka's options of topics, in whose names `_` replaces the dots.
        """
        options = {name.replace("_", "."): value for name, value in topic_config.items()}
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=options)
        admin = self._connect_admin()  # must live until the topic exists
        admin.create_topics([new])[topic].result(_TIMEOUT_S)

    def _connect_admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.address, "log_level": 0})

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            try:
                self._connect_admin().list_topics(timeout=1.0)
                return
            except KafkaException:
                if not self.is_running or time.monotonic() > deadline:
                    self.kill()
                    log_end = (self.data_folder / "log").read_text(errors="replace")[-2000:]
                    raise RuntimeError(
                        f"the Kafka server at {self.address} did not start; the end of its log "
                        f"is:\n{log_end}"
                    ) from None

    def _java_command(self, *arguments: str) -> list[str]:
        java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
        return [str(java), *self.java_options, "-cp", f"{self.jars_folder}/*", *arguments]

    def _format_properties(self) -> str:
        """Return the configuration of a single node.

        Topics are not created automatically, and no setting waits for other servers.
        """
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
    with socket.socket() as first, socket.socket() as second:
        for each in (first, second):
            each.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


def main() -> None:
    """Run a server until it is stopped with Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(
        prog="python -m covey.testing.kafka_server",
        description="Run a Kafka server on this machine, to try a stream. Ctrl-C stops it.",
    )
    parser.add_argument("jars", type=Path, help="folder with the jars, which `make kafka` fills")
    parser.add_argument("data", type=Path, help="folder of the data; created if it is missing")
    parser.add_argument(
        "--port", type=int, default=9092, help="port for clients; the next one is used too"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    server = KafkaServer(
        options.jars, options.data.absolute(), options.port, controller_port=options.port + 1
    )
    try:
        with server:
            print(f"Kafka listens at {server.address}", flush=True)
            server.wait()
    except (FileNotFoundError, RuntimeError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit()


if __name__ == "__main__":
    main()
