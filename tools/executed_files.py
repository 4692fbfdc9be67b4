"""Files of covey that run during a warm `transform`, one Kafka event, and `covey plan make`.

`python -m tools.executed_files` counts for each action the files below src/covey in which a
function ran, in any process. Modules that are only imported do not count. It needs Python 3.12 for
`sys.monitoring`, and `make jars kafka` for the event.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / "covey"

TRANSFORM = """
import sys, time
from pathlib import Path
from pyspark.sql import SparkSession
from covey.spark import Matcher

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
rows = [("ACME" if i % 3 else "BETA", float(i % 200), ["a", "b"][: i % 3]) for i in range(1000)]
events = spark.createDataFrame(rows, "symbol STRING, price DOUBLE, tags ARRAY<STRING>")
texts = [
    (i, f"symbol = 'ACME' AND price > {i} AND (price < {i + 50} OR array_contains(tags, 'a'))")
    for i in range(200)
]
subscriptions = spark.createDataFrame(texts, "id INT, predicate STRING")
model = Matcher(eventSchema=events.schema).fit(subscriptions)
for _ in range(3):
    model.transform(events).count()
time.sleep(0.5)
began = time.monotonic_ns()
model.transform(events).count()
time.sleep(0.3)
Path(sys.argv[1]).write_text(str(began))
spark.stop()
"""


class Watch:
    """Records of the files that ran, in all Python processes with the variables `environment`."""

    def __init__(self, folder: Path) -> None:
        self.notes = folder / "notes"
        self.notes.mkdir()
        self.environment = {
            **os.environ,
            "COVEY_EXECUTED": str(self.notes),
            "COVEY_EXECUTED_SOURCES": str(SOURCES) + os.sep,
            "PYTHONPATH": str(Path(__file__).parent / "monitoring_site"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
        }

    def files(self, began: int = 0) -> set[str]:
        """Return the files in which a function ran after `began`, in ns of the monotonic clock."""
        time.sleep(0.3)
        last: dict[str, int] = {}
        for path in self.notes.glob("*.json"):
            for file, time_ns in json.loads(path.read_text()).items():
                last[file] = max(time_ns, last.get(file, 0))
        return {
            os.path.relpath(file, SOURCES) for file, time_ns in last.items() if time_ns >= began
        }


def watch_transform(folder: Path) -> set[str]:
    """Return the files that run in the last of four equal transforms."""
    watch, began = Watch(folder), folder / "began"
    command = [sys.executable, "-c", TRANSFORM, str(began)]
    subprocess.run(command, env=watch.environment, check=True, stderr=subprocess.DEVNULL)
    return watch.files(int(began.read_text()))


def watch_kafka_event(folder: Path) -> set[str]:
    """Return the files that run in a stream from an event to its notification.

    The event is the last of three equal events. It is published after a longer pause, in which the
    process that merges segments ends its imports.
    """
    from confluent_kafka import Consumer, Producer

    from covey.stream import subscription_message
    from covey.testing.kafka_server import KafkaServer
    from examples.live import CONFIG

    watch = Watch(folder)
    with KafkaServer.on_free_ports(ROOT / ".kafka", folder / "kafka", is_short_lived=True) as kafka:
        for topic in ("ads", "alerts", "notifications", "dead-letters"):
            kafka.create_topic(topic, message_timestamp_type="LogAppendTime")
        config = folder / "stream.toml"
        config.write_text(CONFIG.format(servers=kafka.address, jars=ROOT / ".jars"))
        command = [str(Path(sys.executable).with_name("covey")), "stream", str(config)]
        stream = subprocess.Popen(
            command, env=watch.environment, stderr=subprocess.DEVNULL, cwd=folder
        )
        try:
            producer = Producer({"bootstrap.servers": kafka.address, "acks": "all"})
            consumer = Consumer(
                {
                    "bootstrap.servers": kafka.address,
                    "group.id": "watch",
                    "auto.offset.reset": "earliest",
                }
            )
            consumer.subscribe(["notifications"])
            key, value = subscription_message("ann", "city = 'Rome' AND price > 500")
            producer.produce("alerts", value, key)
            producer.flush()
            for pause_s in (2, 2, 15):
                time.sleep(pause_s)
                began = time.monotonic_ns()
                producer.produce("ads", '{"title": "Piano", "price": 900.0, "city": "Rome"}')
                producer.flush()
                until = time.monotonic() + 180
                while (message := consumer.poll(0.2)) is None or message.error():
                    if time.monotonic() > until or stream.poll() is not None:
                        sys.exit("no notification arrived in 180 s, or the stream has ended")
            time.sleep(1)
            files = watch.files(began)
            consumer.close()
        finally:
            stream.terminate()
            stream.wait()
    return files


def watch_plan_make(folder: Path) -> set[str]:
    """Return the files that run in `covey plan make`."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    random = np.random.default_rng(1)
    at, low = random.normal(0, 50, (400, 2)), random.uniform(0, 90, (400, 2))
    columns = np.hstack([at, low, low + random.uniform(1, 10, (400, 2))]).T
    names = ("a", "b", "x1", "y1", "x2", "y2")
    pq.write_table(pa.table(dict(zip(names, columns, strict=True))), folder / "people.parquet")
    positions = random.normal(0, 50, (6, 2)).T
    brokers = pa.table({"a": positions[0], "b": positions[1], "parent": [None, 0, 0, None, 3, 3]})
    pyarrow.csv.write_csv(brokers, folder / "brokers.csv")
    watch = Watch(folder)
    command = [
        str(Path(sys.executable).with_name("covey")), "plan", "make",
        "people.parquet", "brokers.csv", "-o", "plan", "--position", "a,b",
        "--lower", "x1,y1", "--upper", "x2,y2", "--attributes", "x,y",
        "--publisher", "0,0", "--max-delay", "3", "--load", "2",
        "--most-load", "3", "--steps", "50",
    ]  # fmt: skip
    subprocess.run(
        command, env=watch.environment, check=True, cwd=folder, stdout=subprocess.DEVNULL
    )
    return watch.files()


WATCHED: dict[str, Callable[[Path], set[str]]] = {
    "transform": watch_transform,
    "kafka_event": watch_kafka_event,
    "plan_make": watch_plan_make,
}


def main() -> None:
    """Print the number of files that ran, and with `--list` their names."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        default=list(WATCHED),
        help="actions: transform, kafka_event, plan_make (default: all)",
    )
    parser.add_argument("--list", action="store_true", help="print the names of the files")
    arguments = parser.parse_args()
    if sys.version_info < (3, 12):
        sys.exit("executed_files needs Python 3.12, for sys.monitoring")
    for name in arguments.names:
        with tempfile.TemporaryDirectory() as folder:
            files = sorted(WATCHED[name](Path(folder)))
        print(f"{name}_files: {len(files)}", flush=True)
        if arguments.list:
            print("".join(f"  {file}\n" for file in files), end="")


if __name__ == "__main__":
    main()
