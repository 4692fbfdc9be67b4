"""Fixtures of stream tests: one Kafka server, and one process that runs commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from covey.testing.kafka_server import KafkaServer
from tests.stream.commands import Commands, Outcome
from tests.stream.live import ROOT, SECONDS, SMALL, Live, free_port


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep tests away from the cache of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "users-cache"))


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    folder = tmp_path_factory.mktemp("kafka")
    with KafkaServer.on_free_ports(ROOT / ".kafka", folder / "server", is_short_lived=True) as one:
        yield one


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """Yield a process for commands, and for streams that need no process of their own.

    The working directory of commands contains a module that is not valid Python.
    """
    folder = tmp_path_factory.mktemp("commands")
    (folder / "unready.py").write_text("def write(rows, batch): to be done\n")
    one = Commands(folder, sorted((ROOT / ".jars").glob("*.jar")), SMALL)
    yield one
    one.close()


@pytest.fixture
def streams(broker: KafkaServer, commands: Commands) -> Iterator[Callable[..., Live]]:
    """Yield a function that makes streams, and close these streams after the test."""
    made: list[Live] = []

    def make(folder: Path, **sections: dict[str, object]) -> Live:
        made.append(Live(broker, folder, commands, **sections))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="session")
def run(commands: Commands) -> Callable[..., Outcome]:
    """Return a function that runs a command line of covey, which must not end with a traceback."""
    return partial(commands.run, seconds=SECONDS)


@dataclass(frozen=True, slots=True)
class Running:
    """A running stream, and the messages that existed before it was started.

    `backlog` has the expected subscriptions of each event, `changes` is the number of messages on
    the control topic.
    """

    stream: Live
    backlog: dict[str, list[str]]
    changes: int


@pytest.fixture(scope="session")
def running(
    broker: KafkaServer, commands: Commands, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """Yield one stream for all tests that leave it running; the column `of` separates their events.

    It has a process of its own, because commands are run at the same time.
    """
    schema = "of STRING, a DOUBLE, t STRING, n INT, tags ARRAY<STRING>"
    stream = Live(
        broker, tmp_path_factory.mktemp("running"), commands,
        events={"schema": schema, "max_events_per_batch": None},
        notifications={"include": ["a", "t"]}, metrics={"port": free_port()},
    )  # fmt: skip
    backlog = {}

    def publish(a: float, *expected: str) -> None:
        (place,) = stream.publish({"of": "backlog", "a": a}, partition=len(backlog) % 2)
        backlog[place] = list(expected)

    try:
        publish(2.0)
        stream.subscribe("early", "of = 'backlog' AND a > 1")
        publish(2.0, "early")
        publish(0.0)
        stream.subscribe("early", "of = 'backlog' AND a < 1")
        publish(2.0)
        publish(0.0, "early")
        stream.subscribe("late", "of = 'backlog'")
        publish(0.0, "early", "late")
        stream.cancel("early")
        publish(0.0, "late")
        changes = len(stream.read(stream.control))
        stream.start(own_process=True)
        yield Running(stream, backlog, changes)
        assert stream.stop() == 0
    finally:
        stream.close()
