"""The benchmark of the live pipeline: its configuration, its data, and a run at a small size."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.live import KEYS, run
from benchmarks.on_kafka import boxes, spark_conf
from benchmarks.on_kafka.identity import emit
from benchmarks.on_kafka.pipelines import BARE, COVEY, Pipeline
from benchmarks.on_kafka.sizes import SHRINK
from benchmarks.on_kafka.soak import draw
from tests import benchmarked


@pytest.mark.nightly
def test_every_key_is_measured():
    measured = benchmarked.measure("live", {SHRINK: "100"})
    assert measured.keys() == KEYS.keys()
    assert measured["matches_per_event"] == pytest.approx(boxes.MATCHES, rel=0.05)


def test_divided_sizes_are_refused_in_a_full_run(monkeypatch):
    monkeypatch.setenv(SHRINK, "1000")
    with pytest.raises(SystemExit, match=SHRINK):
        run(frozenset(KEYS), full=True)


def test_both_pipelines_get_the_same_configuration(tmp_path):
    config = {}
    for name in (BARE, COVEY):
        pipeline = Pipeline(name, "127.0.0.1:9092", "alerts", tmp_path / name, tmp_path)
        words = pipeline.process().words
        config[name] = tomllib.loads(Path(words[-1]).read_text())
    assert config[BARE]["spark"] == config[COVEY]["spark"]
    assert config[BARE]["kafka"] == config[COVEY]["kafka"]
    assert config[BARE]["spark"]["conf"] == spark_conf.CONF
    for section in ("events", "notifications", "dead_letters"):
        widths = [len(json.dumps(config[name][section])) for name in (BARE, COVEY)]
        assert widths[0] == widths[1], section


def test_an_event_is_in_ten_boxes_on_average():
    random = np.random.default_rng(1)
    values = [json.loads(value) for value in boxes.subscriptions(2_000, 2_000, random)]
    edges = [[float(word) for word in value["predicate"].split()[2::4]] for value in values]
    low, high = np.array(edges)[:, 0::2], np.array(edges)[:, 1::2]
    assert low.min() >= 0
    assert high.max() <= 1
    assert np.prod(high - low, axis=1).sum() == pytest.approx(boxes.MATCHES, rel=1e-3)


def test_the_bare_operator_writes_notifications_of_the_same_number_and_width():
    events = pa.table(
        {
            "topic": ["ads-b"] * 3,
            "partition": pa.array([0, 1, 0], pa.int32()),
            "offset": pa.array([5, 6, 123], pa.int64()),
            "value": pa.array([b"{}"] * 3),
        }
    )
    [written] = emit(iter(events.to_batches()))
    assert written.num_rows == 3 * boxes.MATCHES
    notifications = [json.loads(value.as_py()) for value in written.column("value")]
    assert [row["event"] for row in notifications[:: boxes.MATCHES]] == [
        "ads-b-0-5",
        "ads-b-1-6",
        "ads-b-0-123",
    ]
    for row, key in zip(notifications, written.column("key"), strict=True):
        assert list(row) == ["id", "event", "subscription", "version"]
        assert row["id"] == f"{row['event']}/{row['subscription']}"
        assert len(row["subscription"]) == len(key.as_py())


def test_the_memory_of_a_soak_run_is_drawn(tmp_path):
    samples = [
        {"s": 10.0 * n, "driver": 1.0, "jvm": 2.0, "workers": 3.0, "state": 4.0} for n in range(5)
    ]
    draw(samples, 1_000, tmp_path / "soak.png")
    assert (tmp_path / "soak.png").read_bytes().startswith(b"\x89PNG")
