"""Events and alerts that every format can hold, with the odd ones that people have."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from covey.testing.spark_oracle import match_with_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVENTS: list[dict[str, Any]] = [
    {
        "n": n,
        "symbol": None if n % 7 == 0 else ("ACME", "BETA", 'Say "so", Ltd')[n % 3],
        "price": None if n % 11 == 0 else float("nan") if n % 13 == 0 else n / 2,
        "at": dt.datetime(2024, 5, 1 + n // 20, n % 24, 30, 5, tzinfo=dt.UTC),
        "venue": None,
    }
    for n in range(60)
]
ALERTS: list[tuple[str, str]] = [
    ("007", "symbol = 'ACME' AND price > 12"),
    ("008", "price BETWEEN 5 AND 5.5 OR symbol LIKE 'B%'"),
    ("all", "true"),
    ("lines", "symbol = 'Say \"so\", Ltd'\n  AND price <= 20"),
    ("late", "at >= '2024-05-03 12:00:00'"),
    ("half", "price * 2 < 30"),
    ("nobody", "price > 20 AND price < 20"),
    ("wrong", "prise > 5"),
]
READ = [(id_, text) for id_, text in ALERTS if id_ != "wrong"]


def expected(events: DataFrame) -> set[tuple[int, str]]:
    """Which event is of interest to whom, as Spark's `where` says."""
    return match_with_spark(events, dict(READ), "n")
