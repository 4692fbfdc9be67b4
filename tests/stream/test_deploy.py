"""Plans on Kafka: no subscriber misses an event, and the load of each broker is as planned."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from covey.plan import Plan, SavedPlan, search
from covey.plan.workload.problems import ASSIGNMENT_PROBLEMS
from covey.stream.config import KafkaConfig
from covey.stream.kafka_cluster import KafkaCluster
from covey.testing.kafka_server import KafkaServer
from tests.stream.commands import Outcome

pytestmark = pytest.mark.integration

Run = Callable[..., Outcome]

EVENTS, SAMPLE = 4_000, 20_000


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Return a plan of two levels of brokers for a sample of the events."""
    problem = replace(
        ASSIGNMENT_PROBLEMS["hot-spots"](400, 10, degree=4, seed=2), max_delay=2.0, max_load=2.5
    )
    return search(replace(problem, event_sample=draw_events(1, SAMPLE)), steps=100)


def draw_events(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).beta(2, 3, (count, 2)) * 1000


@pytest.fixture
def deploy(broker: KafkaServer, run: Run, tmp_path: Path) -> Callable[..., Outcome]:
    """Return a function that deploys the plan in the folder of the test."""

    def deploy(schema: str = "x DOUBLE, y DOUBLE", *more: str) -> Outcome:
        return run(
            "plan", "deploy", tmp_path / "plan", "--servers", broker.address,
            "--events", f"{tmp_path.name}-events", "--schema", schema,
            "--checkpoint", tmp_path / "checkpoint", "--prefix", tmp_path.name, "--once", *more,
        )  # fmt: skip

    return deploy


def test_every_subscriber_receives_its_events(
    broker: KafkaServer, plan: Plan, deploy: Callable[..., Outcome], tmp_path: Path
) -> None:
    prefix, tree = tmp_path.name, plan.problem.tree
    assert plan.verify().is_valid
    assert tree.leaf_paths.shape[1] == 2
    SavedPlan.from_plan(plan, ["x", "y"]).save(tmp_path / "plan")
    cluster = KafkaCluster(KafkaConfig(broker.address))
    broker.create_topic(f"{prefix}-events", 2)
    for number in range(len(tree)):
        broker.create_topic(f"{prefix}.{number}")
    events = draw_events(7, EVENTS)
    producer = cluster.create_producer()
    for number, (x, y) in enumerate(events.tolist()):
        value = json.dumps({"x": x, "y": y})
        producer.produce(f"{prefix}-events", value.encode(), str(number).encode())
    # an attribute is missing, so no broker receives it
    producer.produce(f"{prefix}-events", b'{"x": 1}', b"-1")
    producer.produce(f"{prefix}-events", b"no JSON", b"-2")
    producer.flush()
    done = deploy()
    assert done.code == 0, done.err
    received = {number: keys(cluster, f"{prefix}.{number}") for number in range(len(tree))}
    for number, numbers in received.items():
        assert len(numbers) == len(set(numbers)), "without failures no event may arrive twice"
        is_in = np.zeros(EVENTS, np.bool_)
        for low, high in zip(*plan.filters.rectangles_of(number), strict=True):
            is_in |= (events >= low).all(axis=1) & (events <= high).all(axis=1)
        assert set(numbers) == set(np.flatnonzero(is_in).tolist())
        assert abs(len(numbers) / EVENTS - plan.bandwidth_by_broker[number]) < 0.03
    all_subscribers = plan.problem.subscribers
    for row, number in enumerate(plan.assignment.tolist()):
        is_wanted = (events >= all_subscribers.lower[row]).all(axis=1) & (
            events <= all_subscribers.upper[row]
        ).all(axis=1)
        assert set(np.flatnonzero(is_wanted).tolist()) <= set(received[number])
    lines = [line.split() for line in done.out.splitlines() if line.strip()]
    assert lines[0] == ["broker", "events", "bytes", "share", "planned"]
    assert [int(line[1].replace(",", "")) for line in lines[1:]] == [
        len(c) for c in received.values()
    ]


def keys(cluster: KafkaCluster, topic: str) -> list[int]:
    """Return the keys of all messages of a topic with one partition."""
    from confluent_kafka import TopicPartition

    consumer = cluster.create_consumer()
    start = TopicPartition(topic, 0, 0)
    _, end = consumer.get_watermark_offsets(start, timeout=60)
    consumer.assign([start])
    found: list[int] = []
    while end:
        for message in consumer.consume(1_000, timeout=5):
            if message.error():
                consumer.close()
                return found
            found.append(int(message.key() or b""))
    consumer.close()
    return found


def test_a_missing_topic_is_named(
    plan: Plan, deploy: Callable[..., Outcome], tmp_path: Path
) -> None:
    SavedPlan.from_plan(plan, ["x", "y"]).save(tmp_path / "plan")
    done = deploy()
    assert done.code == 2
    assert f"{tmp_path.name}-events" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x DOUBLE"], "has no y, which the filters of the plan use"),
        (["x WIBBLE, y DOUBLE"], "the schema of events 'x WIBBLE, y DOUBLE' cannot"),
        (["x DOUBLE, y DOUBLE", "--jars", "nowhere.jar"], "nowhere.jar: there is no such file"),
    ],
)
def test_missing_attributes_schemas_and_jars_are_reported(
    plan: Plan, deploy: Callable[..., Outcome], tmp_path: Path, words: list[str], message: str
) -> None:
    SavedPlan.from_plan(plan, ["x", "y"]).save(tmp_path / "plan")
    done = deploy(*words)
    assert done.code == 2
    assert message in done.err
