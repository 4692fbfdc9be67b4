"""A stream in a minute: a Kafka server, `covey stream`, two subscriptions and their notifications.

Run it from a clone, after `make jars kafka`. All its files are removed at the end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import Consumer, Producer

from covey.stream import subscription_message
from covey.testing.kafka_server import KafkaServer

ROOT = Path(__file__).parent.parent
CONFIG = """
[kafka]
servers = "{servers}"
[events]
topics = ["ads"]
schema = "title STRING, price DOUBLE, city STRING"
starting_offsets = "earliest"
[subscriptions]
topic = "alerts"
[notifications]
include = ["title", "price"]
[dead_letters]
topic = "dead-letters"
[state]
path = "state"
[spark]
master = "local[2]"
jars = "{jars}/*.jar"
"""
ADS = [
    {"title": "Bicycle", "price": 120.0, "city": "Rome"},
    {"title": "Piano", "price": 900.0, "city": "Rome"},
    {"title": "bicycle, old", "price": 20.0, "city": "Oslo"},
]


def main() -> None:
    """Start the server and the stream, and print the notifications."""
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        with KafkaServer.on_free_ports(
            ROOT / ".kafka", folder / "kafka", is_short_lived=True
        ) as broker:
            for topic in ("ads", "alerts", "notifications", "dead-letters"):
                broker.create_topic(topic, message_timestamp_type="LogAppendTime")
            config = folder / "live.toml"
            config.write_text(CONFIG.format(servers=broker.address, jars=ROOT / ".jars"))
            command = [str(Path(sys.executable).with_name("covey")), "stream", str(config)]
            with (folder / "log").open("wb") as log:
                stream = subprocess.Popen(command, stderr=log)
                try:
                    follow(broker.address, stream)
                finally:
                    stream.terminate()
                    stream.wait()


def follow(servers: str, stream: subprocess.Popen[bytes]) -> None:
    """Subscribe, publish, and print notifications when they arrive.

    Args:
        servers: address of the Kafka server.
        stream: the process of `covey stream`.
    """
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "log_level": 0})
    subscriptions = {"ann": "lower(title) LIKE 'bicycle%'", "bob": "city = 'Rome' AND price > 500"}
    for id, predicate in subscriptions.items():
        key, value = subscription_message(id, predicate)
        producer.produce("alerts", value, key)
    producer.flush()  # waits until the server has acknowledged them
    for ad in ADS:
        producer.produce("ads", json.dumps(ad))
    producer.flush()
    print(f"{len(subscriptions)} subscriptions, {len(ADS)} ads; Spark is starting", flush=True)
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "live", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["notifications"])
    seen, until = 0, time.monotonic() + 180
    while seen < 3 and time.monotonic() < until and stream.poll() is None:
        message = consumer.poll(1.0)
        if message is not None and not message.error():
            notification = json.loads(message.value() or b"")
            seen += 1
            print(f"{notification['subscription']}: {notification['event_values']}", flush=True)
    consumer.close()
    if seen < 3:
        sys.exit(f"only {seen} of 3 notifications arrived")


if __name__ == "__main__":
    main()
