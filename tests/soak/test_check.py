"""The checker finds each fault in logs that are otherwise right."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from soak.check import _effects, _missing, compare
from soak.logs import EventLog, Sent
from soak.receiver import Ledger
from soak.rule import Change
from soak.topics import Record

EVERYWHERE = '{"predicate": "a >= 0.0 AND a < 1.0"}'
LEFT = '{"predicate": "a < 0.5"}'


@dataclass
class Logs:
    """Three events and two subscriptions, with right notifications until a test changes them."""

    notifications: list[tuple[bytes, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for event, id_ in (("ads-0-0", "all"), ("ads-0-0", "left"), ("ads-1-7", "all")):
            self.send(event, id_)
        self.send("ads-0-2", "all")

    def send(self, event: str, id_: str, version: int = 1) -> None:
        said = {"id": f"{event}/{id_}", "event": event, "subscription": id_, "version": version}
        self.notifications.append((id_.encode(), json.dumps(said, separators=(",", ":")).encode()))

    def sent(self) -> Sent:
        sent = Sent(events().rows, {"all": 0, "left": 1})
        for key, value in self.notifications:
            sent.add(key, value)
        return sent

    def faults(self) -> dict[str, object]:
        """Return the counts of faults in the report that are not 0."""
        changes = [Change.read("all", 50, EVERYWHERE, {}), Change.read("left", 50, LEFT, {})]
        changes.append(Change.read("left", 300, None, {}))
        report = compare(events(), changes, self.sent())
        names = ("lost", "invented", "repeats", "differing_repeats")
        return {name: report[name] for name in names if report[name]}


def events() -> EventLog:
    def record(partition: int, offset: int, time_ms: int, a: float) -> Record:
        value = json.dumps({"a": a, "b": 0.5, "c": 0.5, "d": 0.5}).encode()
        return Record(partition, offset, time_ms, None, value, {})

    malformed = Record(0, 1, 150, None, b"{", {})
    ordered = [record(0, 0, 100, 0.25), malformed, record(0, 2, 300, 0.25)]
    return EventLog.of("ads", [*ordered, record(1, 7, 200, 0.75)])


def test_right_logs_have_no_fault() -> None:
    assert Logs().faults() == {}


def test_rows_are_in_the_order_of_times() -> None:
    log = events()
    assert log.rows == {"ads-0-0": 0, "ads-1-7": 1, "ads-0-2": 2}
    assert log.times_ms.tolist() == [100, 200, 300]
    assert log.columns[0].tolist() == [0.25, 0.75, 0.25]
    assert log.malformed == {"ads-0-1"}


@pytest.mark.parametrize("place", range(4))
def test_a_lost_notification_is_counted(place: int) -> None:
    logs = Logs()
    del logs.notifications[place]
    assert logs.faults() == {"lost": 1}


@pytest.mark.parametrize(
    ("event", "id_"),
    [
        ("ads-1-7", "left"),  # no match
        ("ads-0-1", "all"),  # malformed
        ("ads-0-9", "all"),  # aborted or never sent
        ("ads-0-0", "nobody"),
    ],
)
def test_an_invented_notification_is_counted(event: str, id_: str) -> None:
    logs = Logs()
    logs.send(event, id_)
    assert logs.faults() == {"invented": 1}


def test_either_order_is_right_in_the_millisecond_of_a_change() -> None:
    logs = Logs()
    logs.send("ads-0-2", "left")
    assert logs.faults() == {}


def test_repeats_are_no_fault_unless_they_differ() -> None:
    logs = Logs()
    logs.send("ads-0-0", "all")
    logs.send("ads-0-0", "all")
    assert logs.faults() == {"repeats": 2}
    logs.send("ads-0-0", "all", version=2)
    assert logs.faults() == {"repeats": 3, "differing_repeats": 1}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"left", b'{"id":"ads-0-0/all","event":"ads-0-0","subscription":"all","version":1}'),
        (b"all", b'{"id":"ads-0-0/left","event":"ads-0-0","subscription":"all","version":1}'),
        (b"all", b'{"id": "ads-0-0/all","event":"ads-0-0","subscription":"all","version":1}'),
        (b"all", b'{"id":"ads-0-0/all","event":"ads-0-0","subscription":"all"}'),
        (b"all", None),
    ],
)
def test_a_malformed_notification_counts_as_lost_and_invented(key: bytes, value: bytes) -> None:
    logs = Logs()
    logs.notifications[0] = (key, value)
    assert logs.faults() == {"lost": 1, "invented": 1}


def test_acknowledged_messages_missing_from_the_log_are_counted(tmp_path: Path) -> None:
    def missing(*said: dict[str, object]) -> int:
        (tmp_path / "journal").write_text("".join(json.dumps(line) + "\n" for line in said))
        return _missing(events(), {"alerts-0-0"}, tmp_path / "journal")

    present = {"topic": "ads", "partition": 0, "offset": 1}
    change = {"topic": "alerts", "partition": 0, "offset": 0}
    lost = {"topic": "ads", "partition": 0, "offset": 5}
    assert missing(present, change, {**lost, "aborted": True}) == 0
    assert missing(present, lost) == 1
    assert missing({**present, "aborted": True}) == 1
    assert missing({**change, "offset": 1}) == 1


def test_effects_are_compared_with_the_topic(tmp_path: Path) -> None:
    file, logs = tmp_path / "ledger", Logs()
    batch = [Record(0, at, 0, *each, {}) for at, each in enumerate(logs.notifications)]
    ledger = Ledger(file)
    ledger.take(batch[:3])
    assert _effects(logs.sent(), file) == {"effects": 3, "double_effects": 0, "ledger_differs": 1}
    ledger.take(batch[3:])
    assert _effects(logs.sent(), file) == {"effects": 4, "double_effects": 0, "ledger_differs": 0}
    ledger._database.execute("INSERT INTO effects SELECT id FROM known LIMIT 1")
    assert _effects(logs.sent(), file) == {"effects": 5, "double_effects": 1, "ledger_differs": 0}
    del logs.notifications[0]
    assert _effects(logs.sent(), file)["ledger_differs"] == 1


def test_the_checker_imports_nothing_of_covey() -> None:
    script = "import sys, soak.check; sys.exit('covey' in sys.modules)"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", script], cwd=root).returncode == 0
