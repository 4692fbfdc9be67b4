"""The topics of a run, and the config of the pipeline under test."""

from __future__ import annotations

import json
from pathlib import Path

from covey.testing.kafka_server import KafkaServer
from soak.names import ALERTS, DEAD_LETTERS, EVENTS, NOTIFICATIONS, STATE
from soak.rule import COLUMNS

__all__ = ["create_topics", "write_config"]

# Much longer than a transaction stays open, and much shorter than a run.
_MAX_EVENT_DELAY_S = 300


def create_topics(broker: KafkaServer, lag_s: float) -> None:
    """Create all topics; records of the control topic are compacted when they are `lag_s` s old.

    A pipeline that is down for longer than `lag_s` may miss changes. An operator must set
    `min.compaction.lag.ms` above the longest downtime of a pipeline, and so must a run.
    """
    stamped = {"message_timestamp_type": "LogAppendTime"}
    broker.create_topic(EVENTS, 2, **stamped)
    broker.create_topic(
        ALERTS,
        2,
        cleanup_policy="compact",
        segment_ms="2000",
        segment_bytes=str(1 << 20),
        min_cleanable_dirty_ratio="0.01",
        min_compaction_lag_ms=str(int(lag_s * 1000)),
        delete_retention_ms="60000",
        **stamped,
    )
    broker.create_topic(NOTIFICATIONS, 2)
    broker.create_topic(DEAD_LETTERS, 1)


def write_config(file: Path, servers: str, folder: Path, jars: str) -> None:
    """Write the config file of `covey stream`."""
    sections: dict[str, dict[str, object]] = {
        "kafka": {"servers": servers},
        "events": {
            "topics": [EVENTS],
            "format": "json",
            "schema": ", ".join(f"{name} DOUBLE" for name in COLUMNS),
            "starting_offsets": "earliest",
        },
        "subscriptions": {"topic": ALERTS, "clock_skew_ms": 0},
        "notifications": {"topic": NOTIFICATIONS},
        "dead_letters": {"topic": DEAD_LETTERS},
        "state": {
            "path": str(folder / STATE),
            "retention_s": 600,
            "max_event_delay_s": _MAX_EVENT_DELAY_S,
        },
        "spark": {"master": "local[2,4]", "jars": jars},
    }
    lines = []
    for name, options in sections.items():
        lines.append(f"[{name}]")
        lines += [f"{option} = {json.dumps(value)}" for option, value in options.items()]
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")
