"""A minimal pipeline of one process and brute force: `python reference.py CONFIG`.

It follows the contract of `covey stream` and survives kills, so that the soak can be tested without
Spark. With `--fault` it breaks the contract in one way that the checker must find.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
import tomllib
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from confluent_kafka import Consumer, Message, Producer, TopicPartition

FAULTS = ("lose", "invent", "alter", "newest", "stale", "uncommitted", "silent")
EVER = 2**60
TEST = {">=": np.greater_equal, ">": np.greater, "<=": np.less_equal, "<": np.less}


def run(config: Path, fault: str | None = None, once: bool = False) -> None:
    """Run batch after batch; with `once`, return when there is no more input."""
    pipeline = Pipeline(tomllib.loads(config.read_text()), fault)
    while True:
        is_empty = pipeline.batch()
        if is_empty and once:
            return
        time.sleep(0.3 if is_empty else 0.0)


@dataclass
class Version:
    """The subscriptions at one time: the highest revision and the lifetimes of each id."""

    number: int = 0
    control: dict[str, int] = field(default_factory=dict)
    revisions: dict[str, int] = field(default_factory=dict)
    lifetimes: dict[str, list[tuple[int, int, str]]] = field(default_factory=dict)
    letters: list[dict[str, str]] = field(default_factory=list)


class Pipeline:
    def __init__(self, config: dict[str, Any], fault: str | None) -> None:
        self.servers = config["kafka"]["servers"]
        self.events = config["events"]["topics"][0]
        self.alerts = config["subscriptions"]["topic"]
        self.notifications = config["notifications"]["topic"]
        self.dead_letters = config["dead_letters"]["topic"]
        self.state, self.fault = Path(config["state"]["path"]), fault
        self.producer = Producer({"bootstrap.servers": self.servers, "acks": "all", "log_level": 0})
        isolation = "read_uncommitted" if fault == "uncommitted" else "read_committed"
        self.reader = self.consumer(isolation)
        self.control = self.consumer("read_committed")
        for name in ("store", "batches", "checkpoint/offsets", "checkpoint/commits"):
            (self.state / name).mkdir(parents=True, exist_ok=True)
        done = [int(path.name) for path in (self.state / "checkpoint/commits").glob("*")]
        self.next = max(done, default=-1) + 1

    def batch(self) -> bool:
        """Process one batch, or finish an interrupted one; return True if there is no input."""
        number = self.next
        offsets = self.state / "checkpoint/offsets"
        before = self.offsets(number - 1)
        if not (offsets / str(number)).exists():
            ends = self.ends(self.reader, self.events)
            if ends == before:
                return True
            write(offsets / str(number), "v1\n{}\n" + json.dumps({self.events: ends}))
        ends = self.offsets(number)
        if not (self.state / "batches" / str(number)).exists():
            self.save(self.changed(self.version(number - 1)))
            write(self.state / "batches" / str(number), json.dumps({"version": number + 1}))
        self.send(self.version(number), before, ends)
        write(self.state / "checkpoint/commits" / str(number), "v1\n{}")
        self.next += 1
        return False

    def changed(self, version: Version) -> Version:
        """Return the next version, after reading the control topic to its end."""
        new = Version(version.number + 1, dict(version.control), version.revisions)
        new.lifetimes = version.lifetimes
        ends = self.ends(self.control, self.alerts)
        for message in self.read(self.control, self.alerts, version.control, ends):
            self.change(new, message)
        new.control = ends
        return new

    def change(self, version: Version, message: Message) -> None:
        id_, now = message.key().decode(), message.timestamp()[1]
        headers, said = dict(message.headers() or ()), {}
        predicate, revision = None, None
        if message.value() is None:
            revision = int(headers["revision"]) if "revision" in headers else None
        else:
            try:
                said = json.loads(message.value())
                revision, predicate = said.get("revision"), said["predicate"]
                if predicate is not None and ">>>" in predicate:
                    raise ValueError("no predicate")
            except ValueError as error:
                where = f"{self.alerts}-{message.partition()}-{message.offset()}"
                letter = {"change": where, "subscription": id_, "reason": str(error)}
                version.letters.append(letter)
                predicate, said = None, {}
        if revision is not None and self.fault != "stale":
            if revision <= version.revisions.get(id_, 0):
                return
            version.revisions[id_] = revision
        lives = version.lifetimes.setdefault(id_, [])
        if lives:
            start, end, text = lives[-1]
            lives[-1] = (start, min(end, now), text)
        if predicate is not None:
            lives.append((max(now, said.get("from", 0)), said.get("to", EVER), predicate))

    def send(self, version: Version, before: dict[str, int], ends: dict[str, int]) -> None:
        """Send all notifications of a batch, the same each time that it runs."""
        table = Table(version, newest=self.fault == "newest")
        letters, again, invents = list(version.letters), [], self.fault == "invent"
        for message in self.read(self.reader, self.events, before, ends):
            event = f"{self.events}-{message.partition()}-{message.offset()}"
            try:
                values = json.loads(message.value())
            except ValueError as error:
                letters.append({"event": event, "reason": str(error), "value": "…"})
                continue
            for id_ in table.matching(values, message.timestamp()[1]):
                if self.fault != "lose" or zlib.crc32(f"{event}/{id_}".encode()) % 1000:
                    self.notify(event, id_, version.number)
                    again = [(event, id_)]
            if invents:
                self.notify(event, table.stranger(values), version.number)
                invents = False
        for event, id_ in again if self.fault == "alter" else []:
            self.notify(event, id_, version.number + 1)
        for letter in letters if self.fault != "silent" else []:
            self.produce(self.dead_letters, None, json.dumps(letter))
        assert self.producer.flush(60) == 0

    def notify(self, event: str, id_: str, version: int) -> None:
        said = {"id": f"{event}/{id_}", "event": event, "subscription": id_, "version": version}
        self.produce(self.notifications, id_, json.dumps(said, separators=(",", ":")))

    def produce(self, topic: str, key: str | None, value: str) -> None:
        while True:
            try:
                self.producer.produce(topic, value, key)
                return
            except BufferError:
                self.producer.poll(0.1)

    def consumer(self, isolation: str) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "reference",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": isolation,
                "auto.offset.reset": "earliest",  # if log compaction removed the next offset
                "reconnect.backoff.max.ms": 1000,
                "log_level": 0,
            }
        )

    def ends(self, reader: Consumer, topic: str) -> dict[str, int]:
        numbers = reader.list_topics(topic, timeout=60).topics[topic].partitions
        return {
            str(number): reader.get_watermark_offsets(TopicPartition(topic, number), timeout=60)[1]
            for number in sorted(numbers)
        }

    def read(
        self, reader: Consumer, topic: str, before: dict[str, int], ends: dict[str, int]
    ) -> Iterator[Message]:
        """Iterate over the records from some offsets to before others."""
        left = {int(number) for number, end in ends.items() if end > before.get(number, 0)}
        places = [TopicPartition(topic, number, before.get(str(number), 0)) for number in left]
        reader.assign(places)
        while left:
            for message in reader.consume(1000, timeout=0.1):
                if message.error() or message.offset() >= ends[str(message.partition())]:
                    left.discard(message.partition())
                else:
                    yield message

    def offsets(self, number: int) -> dict[str, int]:
        file = self.state / "checkpoint/offsets" / str(number)
        return json.loads(file.read_text().splitlines()[2])[self.events] if number >= 0 else {}

    def version(self, number: int) -> Version:
        file = self.state / "store" / str(number + 1)
        return Version(**json.loads(file.read_text())) if number >= 0 else Version()

    def save(self, version: Version) -> None:
        write(self.state / "store" / str(version.number), json.dumps(asdict(version)))
        (self.state / "store" / str(version.number - 2)).unlink(missing_ok=True)


class Table:
    """All lifetimes as columns, with a test for one event."""

    def __init__(self, version: Version, newest: bool) -> None:
        lives = [
            (id_, *((0, EVER, each[2]) if newest else each))
            for id_, of_it in version.lifetimes.items()
            for each in (of_it[-1:] if newest else of_it)
        ]
        self.ids = [live[0] for live in lives]
        self.starts = np.array([live[1] for live in lives], np.int64)
        self.ends = np.array([live[2] for live in lives], np.int64)
        parts = [re.findall(r"([abcd]) (\S+) (\S+)", live[3]) for live in lives]
        self.tests = [
            (name, TEST[sign], np.array([p[at][1] == sign for p in parts], bool), bounds)
            for at, name in enumerate("aabbccdd")
            for bounds in [np.array([float(p[at][2]) for p in parts])]
            for sign in ((">=", ">") if at % 2 == 0 else ("<", "<="))
        ]

    def matching(self, values: dict[str, float], now: int) -> list[str]:
        inside = (self.starts <= now) & (now < self.ends) & self.holds(values)
        return sorted({self.ids[row] for row in np.flatnonzero(inside)})

    def stranger(self, values: dict[str, float]) -> str:
        """Return a subscription that did not match the event."""
        matched = {self.ids[row] for row in np.flatnonzero(self.holds(values))}
        return next(id_ for id_ in self.ids if id_ not in matched)

    def holds(self, values: dict[str, float]) -> np.ndarray:
        held = np.ones(len(self.ids), bool)
        for name, test, concerned, bounds in self.tests:
            held &= ~concerned | test(values[name], bounds)
        return held


def write(file: Path, text: str) -> None:
    """Write the whole file or nothing."""
    other = file.parent.parent / f"{file.parent.name}-{file.name}.new"
    other.write_text(text)
    os.replace(other, file)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", choices=FAULTS)
    parser.add_argument("config", type=Path)
    arguments = parser.parse_args()
    run(arguments.config, arguments.fault)
