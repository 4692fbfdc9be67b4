"""A plan on a real Kafka server: shares of events at ten brokers, and missed notifications.

The events are not uniform. The plan is made for one sample of events, and another sample is
published. The command `covey plan deploy --once` forwards the events to the topics of the brokers.
The time is that of the command and includes the start of Spark.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.harness import Value
from benchmarks.on_kafka.topics import Topics
from benchmarks.on_plan.sizes import Sizes
from covey import Events, Space, parse
from covey.index import SegmentIndex
from covey.plan import Plan, SavedPlan, search
from covey.plan.workload.problems import make_hot_spots_problem
from covey.testing.kafka_server import KafkaServer

__all__ = ["KEYS", "run"]

_ROOT = Path(__file__).parent.parent.parent
_EVENTS, _PREFIX = "published", "to"
_AT_ONCE = 20_000  # events of a batch that is matched
_LONGEST_S = 1800

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KEYS = {
    "deployed_share_off": "largest relative difference of received and planned events, 10 brokers",
    "deployed_shares": "share of all events per broker in percent: received/planned",
    "deployed_notifications": "pairs of a subscriber and an event that match",
    "deployed_missed": "subscribers with other matches if read from their broker's topic: 0",
    "deployed_altered": "events that a broker received twice or altered: should be 0",
    "deployed_s": "seconds of the command, with the start of Spark",
}


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Return the results for hot spots and two levels of brokers.

    Loads are nearly equal, so that every broker has subscribers.
    """
    problem = replace(
        make_hot_spots_problem(sizes.deployed, 10, degree=4, seed=2),
        max_delay=2.0,
        target_load=1.0,
        max_load=1.1,
        event_sample=_drawn(1, sizes.events),
    )
    plan, events = search(problem, steps=sizes.period_steps), _drawn(2, sizes.events)
    values = [b'{"x":%r,"y":%r}' % tuple(row) for row in events.tolist()]
    with tempfile.TemporaryDirectory(prefix="covey-") as name:
        folder = Path(name)
        SavedPlan.from_plan(plan, ["x", "y"]).save(folder / "plan")
        with KafkaServer.on_free_ports(_ROOT / ".kafka", folder / "kafka") as broker:
            topics = Topics(broker)
            topics.create(_EVENTS, *(f"{_PREFIX}.{n}" for n in range(len(problem.tree))))
            topics.fill(_EVENTS, ((b"%d" % row, value) for row, value in enumerate(values)))
            start = time.perf_counter()
            _deploy(broker.address, folder)
            seconds = time.perf_counter() - start
            received_rows, altered = _received(topics, values, len(problem.tree))
            topics.close()
    shares = np.array([len(rows) / len(events) for rows in received_rows])
    by_broker = (
        (np.flatnonzero(plan.assignment == n), rows) for n, rows in enumerate(received_rows)
    )
    direct = _notified(plan, [(np.arange(sizes.deployed), np.arange(len(events)))], events)
    deployed = _notified(plan, (part for part in by_broker if len(part[0])), events)
    return {
        "deployed_share_off": round(float(np.abs(shares / plan.bandwidth_by_broker - 1).max()), 4),
        "deployed_shares": " ".join(
            f"{100 * a:.2f}/{100 * b:.2f}"
            for a, b in zip(shares, plan.bandwidth_by_broker, strict=True)
        ),
        "deployed_notifications": int(direct[0].sum()),
        "deployed_missed": int((direct != deployed).any(axis=0).sum()),
        "deployed_altered": altered,
        "deployed_s": round(seconds, 1),
    }


def _drawn(seed: int, count: int) -> Floats:
    return np.random.default_rng(seed).beta(2, 3, (count, 2)) * 1000


def _deploy(servers: str, folder: Path) -> None:
    jars = ",".join(str(jar) for jar in sorted((_ROOT / ".jars").glob("*.jar")))
    subprocess.run(
        [
            sys.executable, "-c", "from covey.cli import app; app()", "plan", "deploy",
            str(folder / "plan"), "--servers", servers, "--events", _EVENTS, "--prefix", _PREFIX,
            "--schema", "x DOUBLE, y DOUBLE", "--checkpoint", str(folder / "checkpoint"), "--once",
            "--master", "local[2]", "--jars", jars,
        ],
        check=True, timeout=_LONGEST_S, stdout=subprocess.DEVNULL,
    )  # fmt: skip


def _received(topics: Topics, values: list[bytes], brokers: int) -> tuple[list[Ints], int]:
    """Return the rows of the events that each broker received, and the number of altered events.

    An event is altered if its value differs from the published one, or if it was received again.
    """
    received_rows, altered = [], 0
    for broker in range(brokers):
        topic = f"{_PREFIX}.{broker}"
        rows = []
        for messages in topics.read(topic, dict.fromkeys(topics.ends(topic), 0)):
            numbers = [int(message.key()) for message in messages]
            altered += sum(values[n] != m.value() for n, m in zip(numbers, messages, strict=True))
            rows += numbers
        distinct_rows = np.unique(np.array(rows, np.int64))
        altered += len(rows) - len(distinct_rows)
        received_rows.append(distinct_rows)
    return received_rows, altered


def _notified(plan: Plan, parts: Iterable[tuple[Ints, Ints]], events: Floats) -> Floats:
    """Return for each subscriber its number of matching events and the sum of their rows.

    Args:
        plan: the plan with the subscribers.
        parts: chunks of the work: rows of subscribers, and rows of the events to match them with.
        events: all events.
    """
    all_subscribers, space = (
        plan.problem.subscribers,
        Space.from_types({"x": pa.float64(), "y": pa.float64()}),
    )
    total = np.zeros((2, len(all_subscribers)))
    for part_subscribers, rows in parts:
        ends = np.hstack([all_subscribers.lower, all_subscribers.upper])
        boxes = ends[part_subscribers].tolist()
        texts = [f"x BETWEEN {a!r} AND {c!r} AND y BETWEEN {b!r} AND {d!r}" for a, b, c, d in boxes]
        parsed = parse(space, texts)
        index = SegmentIndex.build(parsed.regions)
        for start in range(0, len(rows), _AT_ONCE):
            batch = rows[start : start + _AT_ONCE]
            table = pa.table({"x": events[batch, 0], "y": events[batch, 1]})
            pairs = index.match(Events.from_arrow(table, space))
            predicate_rows = parsed.to_predicate_rows(pairs.stored_rows.astype(np.int64))
            subscribers = part_subscribers[predicate_rows]
            for sums, weights in zip(total, (None, batch[pairs.query_rows]), strict=True):
                sums += np.bincount(subscribers, weights, len(all_subscribers))
    return total
