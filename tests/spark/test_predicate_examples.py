"""The predicates of docs/reference/predicate-examples.md match like those of Spark."""

from __future__ import annotations

import ipaddress
import random
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from covey.predicates import in_network
from covey.testing.spark_oracle import match_with_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.integration

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "predicate-examples.md"
TEXTS = dict(
    enumerate(
        line
        for block in re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text("utf-8"), re.S | re.M)
        for line in block.splitlines()
    )
)


def create_events(spark: SparkSession, count: int) -> DataFrame:
    rng = random.Random(4)
    schema = re.findall(r"^```ddl\n(.*?)^```$", PAGE.read_text("utf-8"), re.S | re.M)[0]
    fields = spark.createDataFrame([], schema).schema

    def pick(*values: Any) -> Any:
        return rng.choice(values)

    def row(i: int) -> dict[str, Any]:
        at = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=rng.randrange(400_000))
        items = [
            {"sku": pick("a1", "b2", "c3"), "qty": rng.randrange(5), "price": rng.random() * 100}
            for _ in range(rng.randrange(4))
        ]
        return {
            "id": i, "symbol": pick("ACME", "BETA", "BTCX", "Gamma"), "price": pick(
                100.0, 7.0, rng.random() * 250), "prev_close": pick(100.0, rng.random() * 250),
            "volume": pick(500_000, rng.randrange(10_000_000)), "ts": at,
            "day": at.date() if i % 3 else date(2024, 2, 29),
            "created": at - timedelta(minutes=pick(10, 600, 60_000, -30)),
            "title": pick("red bike", "old sofa", "Lamp", " red sofa old", "piano", "bike"),
            "city": pick("Rome", "Oslo", "Bonn"), "zip": pick("10115", "00007", "80331", "10x"),
            "rooms": rng.randrange(1, 6), "area": pick(0.0, 50.0, rng.random() * 150),
            "rent": Decimal(rng.randrange(20_000, 200_000)) / 100,
            "tags": pick(["sale"], ["new", "sale"], ["urgent", "sale", "sale"], [], ["new", None]),
            "attrs": pick({"color": "red", "size": "xl"}, {"color": "blue"}, {}),
            "seller": {
                "id": rng.randrange(5), "rating": pick(3.0, 4.5, 5.0), "name": pick("x", None)
            },
            "lat": 52.0 + rng.random(), "lon": 13.0 + rng.random(),
            "amount": Decimal(pick(10_000, 50_000, 950_000, 2_000_000)) / 100,
            "currency": pick("EUR", "USD", "DE"), "country": pick("DE", "FR", "US"),
            "ip": pick("10.1.2.3", "192.168.0.1", "8.8.8.8"), "is_new": pick(True, False),
            "items": items, "email": pick("a@mail.example", "b+12@corp.example", "c@d.example"),
            "status": pick(200, 404, 410, 500, 503),
            "path": pick("/api/x", "/static/y", "/a_b", "/100%"),
            "latency_ms": rng.randrange(3_000), "flags": rng.randrange(16),
            "msg": pick("ok", "login failed", "OOM killed", "see the error here"),
            "readings": [pick(None, rng.random() * 60 - 10) for _ in range(rng.randrange(5))],
            "payload": pick('{"user":"ann","n":5}', '{"user":"bob","list":[1,2]}', "no json", ""),
        }  # fmt: skip

    rows = []
    for i in range(count):
        values = row(i)
        rows.append(
            tuple(
                None if name != "id" and rng.random() < 0.06 else values[name]
                for name in fields.names
            )
        )
    return spark.createDataFrame(rows, schema)


def test_the_examples_match_like_spark(spark: SparkSession) -> None:
    from covey.spark import Matcher

    assert len(TEXTS) >= 180
    events = create_events(spark, 200)
    alerts = spark.createDataFrame(list(TEXTS.items()), "sid INT, predicate STRING")
    model = Matcher(eventSchema=events.schema, idCol="sid", eventCols=["id"]).fit(alerts)
    assert [row.asDict() for row in model.rejectedSubscriptions.collect()] == []
    assert model.numSubscriptions == len(TEXTS)
    found = {(row["id"], row["sid"]) for row in model.transform(events).collect()}
    assert found == match_with_spark(events, TEXTS, "id")
    # An example that matches no event would prove little.
    assert len({sid for _, sid in found}) >= 0.9 * len(TEXTS)


def test_networks_contain_the_addresses_that_python_finds(spark: SparkSession) -> None:
    from covey.spark import Matcher

    rng = random.Random(8)
    six = [
        ipaddress.IPv6Address(rng.getrandbits(rng.choice([1, 20, 64, 100, 128]))) for _ in range(60)
    ]
    four = [str(ipaddress.IPv4Address(rng.getrandbits(32))) for _ in range(60)]
    addresses = [
        *four, *map(str, six), *(each.exploded.upper() for each in six), "10.1.2.3", "::", "::1",
        "1::", "2001:db8::", "2001:DB8::ff", "fe80::1:2:3:4", "1:2:3:4:5:6:7::", "", "x", None,
        "::2:3:4:5:6:7:8", "1.2.3", "256.1.1.1", "01.2.3.4", "1.2.3.4.5", " 1.2.3.4", "1::2::3",
        "1:2:3", "12345::", ":::", "1:2:3:4:5:6:7:8:9", "1::2:3:4:5:6:7:8", ":1:2:3:4:5:6:7:8",
        "g::", "1:2:3:4::5:6:7:8", "::1:2:3:4:5:6:7:8",
    ]  # fmt: skip
    networks = [
        "0.0.0.0/0", "10.0.0.0/8", "1.2.3.4", "128.0.0.0/1", "::/0", "::/64", "2001:db8::/32",
        "::1", "8000::/1", "fe80::/10", "1::/16",
    ]  # fmt: skip
    texts = {i: in_network("ip", network) for i, network in enumerate(networks)}
    events = spark.createDataFrame(list(enumerate(addresses)), "id INT, ip STRING")
    alerts = spark.createDataFrame(list(texts.items()), "sid INT, predicate STRING")
    model = Matcher(eventSchema=events.schema, idCol="sid", handleInvalid="error").fit(alerts)
    found = {(row["id"], row["sid"]) for row in model.transform(events).collect()}
    assert found == {
        (i, sid)
        for i, address in enumerate(addresses)
        for sid, network in enumerate(networks)
        if is_in(address, network)
    }
    assert found == match_with_spark(events, texts, "id")


def is_in(address: str | None, network: str) -> bool:
    try:
        return ipaddress.ip_address(address or "") in ipaddress.ip_network(network)
    except ValueError:
        return False
