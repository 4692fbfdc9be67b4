"""One Kafka server for all tests of streams, and one process for the commands that look at them."""

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
    """No test touches the cache of whoever runs it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "users-cache"))


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    folder = tmp_path_factory.mktemp("kafka")
    with KafkaServer.on_free_ports(ROOT / ".kafka", folder / "server", is_short_lived=True) as one:
        yield one


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """A process for commands, and for streams that need none of their own.

    The folder that commands are run in has a module that is no Python.
    """
    folder = tmp_path_factory.mktemp("commands")
    (folder / "unready.py").write_text("def write(rows, batch): to be done\n")
    one = Commands(folder, sorted((ROOT / ".jars").glob("*.jar")), SMALL)
    yield one
    one.close()


@pytest.fixture
def streams(broker: KafkaServer, commands: Commands) -> Iterator[Callable[..., Live]]:
    """Makes streams that end with the test."""
    made: list[Live] = []

    def make(folder: Path, **sections: dict[str, object]) -> Live:
        made.append(Live(broker, folder, commands, **sections))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="session")
def run(commands: Commands) -> Callable[..., Outcome]:
    """Runs a command line of covey, which must not end with a traceback."""
    return partial(commands.run, seconds=SECONDS)


@dataclass(frozen=True, slots=True)
class Running:
    """A stream that runs, and what was there before it was started.

    `backlog` is whom the events are for, `changes` how many there were on the control topic.
    """

    stream: Live
    backlog: dict[str, list[str]]
    changes: int


@pytest.fixture(scope="session")
def running(
    broker: KafkaServer, commands: Commands, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """One for all tests that leave it running; the column `of` keeps their events apart.

    It has a process of its own: commands are run beside it.
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
