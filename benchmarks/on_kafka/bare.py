"""The bare pipeline: from Kafka through `mapInArrow` to Kafka, with equal output and no matching.

It runs as a process with the same kind of configuration file as `covey stream`: `python -m
benchmarks.on_kafka.bare CONFIG.toml`. For each event it writes as many notifications as an event
has with covey on average, each with the event's id and as many bytes as covey's (`identity`).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tomllib
from pathlib import Path
from threading import Event
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.on_kafka.identity import SCHEMA, emit

__all__ = ["main"]


def main(path: Path) -> None:
    """Run the pipeline of a configuration file until SIGTERM."""
    config = tomllib.loads(path.read_text(encoding="utf-8"))
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    spark = _session(config["spark"])
    kafka, event_config = config["kafka"], config["events"]
    clients = {f"kafka.{name}": value for name, value in kafka["spark_options"].items()}
    clients["kafka.bootstrap.servers"] = kafka["servers"]
    events = (
        spark.readStream.format("kafka")
        .options(**clients)
        .option("subscribe", ",".join(event_config["topics"]))
        .option("startingOffsets", event_config["starting_offsets"])
        .option("maxOffsetsPerTrigger", event_config["max_events_per_batch"])
        .load()
        .select("topic", "partition", "offset", "value")
    )
    writer = (
        events.mapInArrow(emit, SCHEMA)
        .writeStream.format("kafka")
        .options(**clients)
        .option("topic", config["notifications"]["topic"])
        .option("checkpointLocation", str(Path(config["state"]["path"], "checkpoint")))
    )
    interval = f"{event_config['trigger_interval_ms']} milliseconds"
    query = writer.trigger(processingTime=interval).start()
    while not query.awaitTermination(1) and not stop.is_set():
        pass
    for progress in query.recentProgress:
        _say(batch=progress.batchId, rows=progress.numInputRows, ms=dict(progress.durationMs))
    query.stop()
    spark.stop()


def _session(given: dict[str, Any]) -> SparkSession:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    pattern = Path(given["jars"])
    jars = ",".join(str(jar) for jar in sorted(pattern.parent.glob(pattern.name)))
    builder = SparkSession.builder.master(given["master"]).appName("bare")
    builder = builder.config("spark.python.daemon.module", "benchmarks.on_kafka.daemon")
    return builder.config("spark.jars", jars).config(map=given.get("conf", {})).getOrCreate()


def _say(**fields: object) -> None:
    print(json.dumps(fields), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
