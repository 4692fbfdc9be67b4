"""The commands of the documentation that start a server and create topics run as printed."""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from covey.testing.kafka_server import KafkaServer
from tests.blocks import PAGES, ROOT, blocks
from tests.stream.commands import die_with_parent
from tests.stream.live import free_port

pytestmark = pytest.mark.integration

SERVER = "--bootstrap-server localhost:9092"  # the variable of the pages
SHOWN = [
    line
    for page in PAGES
    for block in blocks(page)
    for line in block.text.replace("\\\n", " ").replace("$server", SERVER).splitlines()
    if line.removeprefix("$ ").startswith("kafka-topics.sh ")
]


def test_topics_are_created_by_the_commands_that_pages_show(broker: KafkaServer) -> None:
    """Topics get names of their own; the tool is the class that `kafka-topics.sh` starts."""
    from confluent_kafka.admin import AdminClient

    assert len(SHOWN) >= 4
    suffix = uuid4().hex[:8]
    created = set()
    for line in SHOWN[:4]:
        words = shlex.split(re.sub(r"localhost:9092", broker.address, line.removeprefix("$ ")))[1:]
        place = words.index("--topic") + 1
        words[place] = f"{words[place]}-{suffix}"
        created.add(words[place])
        tool = ["java", "-cp", f"{ROOT}/.kafka/*", "org.apache.kafka.tools.TopicCommand"]
        done = subprocess.run([*tool, *words], capture_output=True, text=True)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    client = AdminClient({"bootstrap.servers": broker.address})
    assert created <= client.list_topics(timeout=30).topics.keys()


def test_a_server_of_its_own_runs_until_it_is_stopped(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "covey.testing.kafka_server"]
    refused = subprocess.run([*words, tmp_path, tmp_path / "x"], capture_output=True, text=True)
    assert refused.returncode == 1
    assert refused.stderr.endswith("contains no jar of Kafka: run `make kafka` to download it\n")
    port = free_port()
    server = subprocess.Popen(
        [*words, ROOT / ".kafka", tmp_path / "data", "--port", str(port)],
        stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent,
    )  # fmt: skip
    assert server.stdout is not None
    assert server.stdout.readline() == f"Kafka listens at 127.0.0.1:{port}\n"
    server.terminate()
    assert server.wait(30) == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
