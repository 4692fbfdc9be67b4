"""The commands of the documentation that create topics run as they are printed."""

from __future__ import annotations

import re
import shlex
import subprocess
from uuid import uuid4

import pytest

from covey.testing.kafka_server import KafkaServer
from tests.blocks import PAGES, ROOT, blocks

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
