"""Soak runs: a small one on the stream, and on a reference pipeline with faults to be found."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from covey.testing.kafka_server import KafkaServer
from soak.check import FAULTS, Report, check
from soak.config import create_topics, write_config
from soak.journal import Journal, Past
from soak.load import load
from soak.names import ALERTS, DEAD_LETTERS, JOURNAL, LEDGER, NOTIFICATIONS, RECORDED, STOP
from soak.processes import Child
from soak.receiver import Ledger
from soak.recorder import recorded
from soak.run import faults, run
from soak.scene import Asked
from soak.topics import ends, records
from soak.transactions import Transactions
from tests.soak import reference

ROOT = Path(__file__).parents[2]
KAFKA = ROOT / ".kafka"
REFERENCE = [sys.executable, str(Path(reference.__file__))]


@dataclass(frozen=True)
class Logs:
    """Logs of producers that ran without kills."""

    servers: str
    folder: Path

    def report(self, broker: KafkaServer, fault: str | None) -> Report:
        """Return the report of the checker on a pipeline with a fault."""
        folder = self.folder / str(fault)
        folder.mkdir()
        for name in (JOURNAL, RECORDED):
            (folder / name).symlink_to(self.folder / name)
        topics = {name: f"{name}-{fault}" for name in (NOTIFICATIONS, DEAD_LETTERS)}
        write_config(folder / "stream.toml", self.servers, folder, "")
        text = (folder / "stream.toml").read_text()
        for name, other in topics.items():
            broker.create_topic(other, 2)
            text = text.replace(f'"{name}"', f'"{other}"')
        (folder / "stream.toml").write_text(text)
        reference.run(folder / "stream.toml", fault, once=True)
        Ledger(folder / LEDGER).take(list(records(self.servers, topics[NOTIFICATIONS])))
        return check(self.servers, folder, topics[NOTIFICATIONS], topics[DEAD_LETTERS])


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    with KafkaServer.on_free_ports(
        KAFKA, tmp_path_factory.mktemp("server") / "kafka", is_short_lived=True
    ) as started:
        create_topics(started, lag_s=3600)
        yield started


@pytest.fixture(scope="module")
def logs(broker: KafkaServer, tmp_path_factory: pytest.TempPathFactory) -> Logs:
    folder = tmp_path_factory.mktemp("logs")
    where = [f"--servers={broker.address}", f"--folder={folder}"]
    recorder = Child([sys.executable, "-m", "soak.recorder", *where], folder / "recorder.log")
    recorder.start()
    try:
        (folder / STOP).touch()
        load(broker.address, folder, events=8000, changes=5000, rate=1000, seed=1)
        final_offsets = ends(broker.address, ALERTS)
        until = time.monotonic() + 300
        while not (folder / RECORDED).exists() or recorded(folder) != final_offsets:
            assert recorder.code is None, recorder.said()
            assert time.monotonic() < until
            time.sleep(0.2)
    finally:
        recorder.end(5)
    return Logs(broker.address, folder)


@pytest.mark.integration
def test_a_pipeline_without_a_fault_has_no_fault_in_the_report(
    broker: KafkaServer, logs: Logs
) -> None:
    report = logs.report(broker, None)
    assert {name: report[name] for name in FAULTS} == dict.fromkeys(FAULTS, 0)
    assert report["expected"] > 10_000
    assert report["dead_letters"] > 0
    assert report["repeats"] == 0


@pytest.mark.integration
@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("lose", {"lost"}),
        ("invent", {"invented"}),
        ("alter", {"differing_repeats"}),
        ("newest", {"lost", "invented"}),
        ("stale", {"lost", "invented"}),
        ("uncommitted", {"invented"}),
        ("silent", {"unreported"}),
    ],
)
def test_each_fault_is_found(broker: KafkaServer, logs: Logs, fault: str, found: set[str]) -> None:
    report = logs.report(broker, fault)
    assert {name for name in FAULTS if report[name]} == found
    if fault in ("invent", "alter"):
        assert report[found.pop()] == 1


@pytest.mark.integration
def test_transactions_continue_after_they_were_fenced(broker: KafkaServer, tmp_path: Path) -> None:
    past = Past()
    with Journal(tmp_path / "journal") as journal:
        first = Transactions(broker.address, journal, past, random.Random(1))
        first.tick([b"{}"] * 10)
        Transactions(broker.address, journal, past, random.Random(2))
        before = past.events
        for _ in range(20):
            first.tick([b"{}"] * 10)
            first.finish()
        assert past.events > before


@pytest.mark.nightly
def test_a_stream_with_kills_has_no_fault(tmp_path: Path) -> None:
    """`make soak` runs a hundred kills over a million events.

    Streams that are killed once and restarted are in tests/stream/test_restart.py.
    """
    covey = str(Path(sys.executable).with_name("covey"))
    options = Asked(
        events=20_000,
        changes=3000,
        kills=6,
        seed=5,
        folder=tmp_path / "run",
        rate=300,
        pause_s=2.0,
        lag_s=90,
        driver=[covey, "stream"],
        jars=str(ROOT / ".jars" / "*.jar"),
        kafka=KAFKA,
    )
    result = run(options)
    assert faults(result, options) == []
    assert result["expected"] > 10_000


@pytest.mark.integration
def test_the_reference_pipeline_with_kills_has_no_fault(tmp_path: Path) -> None:
    options = Asked(
        events=10_000,
        changes=4000,
        kills=5,
        seed=2,
        folder=tmp_path / "run",
        rate=400,
        pause_s=1.0,
        lag_s=40,
        driver=REFERENCE,
        jars="",
        kafka=KAFKA,
    )
    result = run(options)
    assert faults(result, options) == []
    assert {"driver", "broker", "producer", "receiver"} >= set(result["kills_by_kind"])
    assert faults(result | {"lost": 1, "kills": 2}, options) == ["1 lost", "2 kills of 5"]
    assert len(faults(result | {"compacted": False, "longest_gap_s": 41}, options)) == 2
