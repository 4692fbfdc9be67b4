"""A plan on a real Kafka server: what comes to the topics of ten brokers, and who misses something.

Events are not uniform; the plan is by a sample of them, and others are published. The command
`covey plan deploy --once` passes them on. Seconds are of the command, with Spark's start.
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
_AT_ONCE = 20_000  # events that are matched
_LONGEST_S = 1800

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KEYS = {
    "deployed_share_off": "events of a topic against planned, relative: the worst of 10 brokers",
    "deployed_shares": "share of all events that came to each, and that was planned, percent",
    "deployed_notifications": "events that subscribers get of all that were published",
    "deployed_missed": "subscribers that get others from their broker's topic than from all events",
    "deployed_altered": "events that came to a broker twice, or not as they were published",
    "deployed_s": "seconds of the command",
}


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Hot spots, two levels of brokers; loads nearly even, so that no broker is left out."""
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
            began = time.perf_counter()
            _deploy(broker.address, folder)
            seconds = time.perf_counter() - began
            came, altered = _received(topics, values, len(problem.tree))
            topics.close()
    shares = np.array([len(rows) / len(events) for rows in came])
    by_broker = ((np.flatnonzero(plan.assignment == n), rows) for n, rows in enumerate(came))
    flat = _notified(plan, [(np.arange(sizes.deployed), np.arange(len(events)))], events)
    deployed = _notified(plan, (part for part in by_broker if len(part[0])), events)
    return {
        "deployed_share_off": round(float(np.abs(shares / plan.bandwidth_by_broker - 1).max()), 4),
        "deployed_shares": " ".join(
            f"{100 * a:.2f}/{100 * b:.2f}"
            for a, b in zip(shares, plan.bandwidth_by_broker, strict=True)
        ),
        "deployed_notifications": int(flat[0].sum()),
        "deployed_missed": int((flat != deployed).any(axis=0).sum()),
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
    """The rows of events that each broker has, and how many are not what was published, once."""
    came, altered = [], 0
    for broker in range(brokers):
        topic = f"{_PREFIX}.{broker}"
        rows = []
        for some in topics.read(topic, dict.fromkeys(topics.ends(topic), 0)):
            numbers = [int(message.key()) for message in some]
            altered += sum(values[n] != m.value() for n, m in zip(numbers, some, strict=True))
            rows += numbers
        found = np.unique(np.array(rows, np.int64))
        altered += len(rows) - len(found)
        came.append(found)
    return came, altered


def _notified(plan: Plan, parts: Iterable[tuple[Ints, Ints]], events: Floats) -> Floats:
    """How many events each subscriber gets, and the sum of their rows.

    A part is some subscribers, and the rows of events that they are matched with by covey's index.
    """
    wanted, space = (
        plan.problem.subscribers,
        Space.from_types({"x": pa.float64(), "y": pa.float64()}),
    )
    total = np.zeros((2, len(wanted)))
    for mine, rows in parts:
        boxes = np.hstack([wanted.lower, wanted.upper])[mine].tolist()
        texts = [f"x BETWEEN {a!r} AND {c!r} AND y BETWEEN {b!r} AND {d!r}" for a, b, c, d in boxes]
        parsed = parse(space, texts)
        index = SegmentIndex.build(parsed.regions)
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            table = pa.table({"x": events[some, 0], "y": events[some, 1]})
            pairs = index.match(Events.from_arrow(table, space))
            subscribers = mine[parsed.to_predicate_rows(pairs.stored_rows.astype(np.int64))]
            for sums, weights in zip(total, (None, some[pairs.query_rows]), strict=True):
                sums += np.bincount(subscribers, weights, len(wanted))
    return total
