"""A stream with normal subscriptions, to which groups of hostile ones are added in turns."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.on_attack.comparison import Found
from benchmarks.on_attack.values import SCHEMA
from benchmarks.on_kafka.pipelines import COVEY, Sections, configured
from benchmarks.on_kafka.processes import Process
from benchmarks.on_kafka.topics import Topics
from covey.errors import StreamError
from covey.stream import cancel_message, subscription_message
from covey.testing.kafka_server import KafkaServer

__all__ = ["Stream"]

_ROOT = Path(__file__).parent.parent.parent
_SCHEMA = f"{SCHEMA}, turn INT"
_CONTROL, _EVENTS, _FOUND, _LETTERS = "alerts", "ads", "found", "dead"
_ALL = "all events"  # id of a subscription that every event matches
_LAST = -1  # number of the event after all others of a turn
_SECONDS = 900.0  # limit of one turn, for busy machines
_POLL_S = 0.2
_MOST_TURNS = 10  # per stream, which computes expressions of cancelled subscriptions for some time


class Stream:
    """A stream with normal subscriptions that gets all events in each turn."""

    def __init__(
        self, broker: KafkaServer, folder: Path, normal: Mapping[str, str], events: DataFrame
    ):
        self._normal = {_ALL: "n IS NOT NULL", **normal}
        self._topics, self._folder = Topics(broker), folder
        rows = events.select("n", F.to_json(F.struct("*")).alias("text")).collect()
        self._texts: dict[int, str] = {row["n"]: row["text"] for row in rows}
        self._begun, self._turn = 0, 0
        self._process: Process | None = None

    @classmethod
    @contextmanager
    def beside(cls, normal: Mapping[str, str], events: DataFrame, folder: Path) -> Iterator[Stream]:
        """Yield a stream with a new Kafka server; both end with the block."""
        with KafkaServer.on_free_ports(_ROOT / ".kafka", folder / "kafka") as broker:
            stream = cls(broker, folder, normal, events)
            try:
                yield stream
            finally:
                stream.close()
                stream._topics.close()

    def events(self, events: DataFrame) -> DataFrame:
        """Return all events as Spark reads them from the topic."""
        rows = [(self._event(n, 0),) for n in self._texts]
        texts = events.sparkSession.createDataFrame(rows, "text STRING")
        parsed = texts.select(F.from_json("text", _SCHEMA).alias("event"))
        return parsed.select("event.*").localCheckpoint()

    def attempt(self, some: Mapping[str, str]) -> Found:
        """Return the pairs of all events, with additional subscriptions, and the rejected ones.

        Raises:
            StreamError: not all events were matched in time, or the stream has ended.
        """
        if self._process is None or self._turn % _MOST_TURNS == 0:
            self._begin()
        try:
            return self._tried(some)
        except StreamError:
            self.close()
            raise

    def close(self) -> None:
        """End the stream; the next attempt starts another."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def _tried(self, some: Mapping[str, str]) -> Found:
        self._turn += 1
        starts = {name: self._topics.ends(self._name(name)) for name in (_FOUND, _LETTERS)}
        self._change(subscription_message(id_, text) for id_, text in some.items())
        pairs = self._matched(list(self._texts), starts[_FOUND])
        # An event in a later batch is matched after all notifications of this turn are written.
        pairs |= self._matched([_LAST], self._topics.ends(self._name(_FOUND)))
        letters = self._read(_LETTERS, starts[_LETTERS])
        self._change(cancel_message(id_) for id_ in some)
        refused = {
            letter["subscription"]: letter["reason"]
            for letter in letters
            if "subscription" in letter
        }
        current_ids = {*self._normal, *some} - {_ALL}
        return Found(
            frozenset((n, id_) for n, id_ in pairs if n != _LAST and id_ in current_ids),
            {id_: reason for id_, reason in refused.items() if id_ in some},
        )

    def _matched(self, numbers: list[int], start: dict[int, int]) -> set[tuple[int, str]]:
        """Publish events and return their pairs with subscriptions once all are matched."""
        values = [(None, self._event(n, self._turn).encode()) for n in numbers]
        self._topics.fill(self._name(_EVENTS), values)
        process = self._process
        assert process is not None
        until, pairs, seen = time.monotonic() + _SECONDS, set[tuple[int, str]](), set[int]()
        while seen != set(numbers):
            if not process.is_running or time.monotonic() > until:
                raise StreamError(
                    f"the stream has ended or did not match all events in {_SECONDS:.0f} s:\n"
                    f"{process.said()[-2000:]}"
                )
            time.sleep(_POLL_S)
            ends = self._topics.ends(self._name(_FOUND))
            for notification in self._read(_FOUND, start, ends):
                event = notification["event_values"]
                if event["turn"] == self._turn:
                    pairs.add((event["n"], notification["subscription"]))
            start = ends
            seen = {n for n, id_ in pairs if id_ == _ALL}
        return pairs

    def _read(
        self, name: str, start: dict[int, int], end: dict[int, int] | None = None
    ) -> list[dict]:  # type: ignore[type-arg]
        parts = self._topics.read(self._name(name), start, end)
        return [json.loads(message.value()) for part in parts for message in part]

    def _event(self, n: int, turn: int) -> str:
        text = self._texts.get(n, f'{{"n":{n}}}')
        return f'{text[:-1]},"turn":{turn}}}'

    def _change(self, messages: Iterator[tuple[bytes, bytes | None]]) -> None:
        self._topics.fill(self._name(_CONTROL), messages)

    def _name(self, topic: str) -> str:
        return f"{topic}-{self._begun}"

    def _begin(self) -> None:
        """End the stream, and start one with the normal subscriptions on new topics."""
        self.close()
        self._begun += 1
        self._topics.create_control(self._name(_CONTROL))
        self._topics.create(*map(self._name, (_EVENTS, _FOUND, _LETTERS)))
        self._change(subscription_message(id_, text) for id_, text in self._normal.items())
        folder = self._folder / f"stream-{self._begun}"
        self._process = configured(COVEY, self._sections(folder), folder)
        self._process.start()

    def _sections(self, folder: Path) -> Sections:
        return {
            "kafka": {"servers": self._topics.broker.address},
            "events": {
                "topics": [self._name(_EVENTS)], "schema": _SCHEMA, "starting_offsets": "earliest",
                "max_events_per_batch": 1_000,
            },
            "subscriptions": {"topic": self._name(_CONTROL)},
            "notifications": {"topic": self._name(_FOUND), "include": ["n", "turn"]},
            "dead_letters": {"topic": self._name(_LETTERS)},
            "state": {"path": str(folder / "state")},
            "spark": {
                "master": "local[2]", "jars": str(_ROOT / ".jars" / "*.jar"),
                "conf": {"spark.sql.ansi.enabled": "true", "spark.ui.enabled": "false"},
            },
        }  # fmt: skip
