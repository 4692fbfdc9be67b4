"""Events with attributes of all types, including values at which functions fail."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, SparkSession

__all__ = ["COLUMNS", "SCHEMA", "events_of", "normal_predicates"]

COLUMNS = {
    "b": "TINYINT", "s": "SMALLINT", "i": "INT", "l": "BIGINT", "f": "FLOAT", "d": "DOUBLE",
    "p": "DECIMAL(10,2)", "q": "DECIMAL(38,10)", "t": "STRING", "u": "STRING", "x": "BINARY",
    "o": "BOOLEAN", "day": "DATE", "ts": "TIMESTAMP", "ntz": "TIMESTAMP_NTZ",
    "tags": "ARRAY<STRING>", "nums": "ARRAY<INT>", "vec": "ARRAY<FLOAT>",
    "m": "MAP<STRING, STRING>", "st": "STRUCT<a: INT, c: STRING>",
}  # fmt: skip
SCHEMA = ", ".join(["n INT", *(f"{name} {type_}" for name, type_ in COLUMNS.items())])

_DAYS = (
    dt.date(1, 1, 1), dt.date(1582, 10, 15), dt.date(1970, 1, 1), dt.date(2024, 2, 29),
    dt.date(9999, 12, 31),
)  # fmt: skip
_TEXTS = (
    "", " ", "0", "1", "-1", "12", "1.5", "1e3", "abc", "ABC", "a,b", "a b", "%", "_",
    "2024-02-29",
    "2024-13-01", "12:30:00", '{"a": 1}', "[1, 2]", "<a>1</a>", "http://a.b/c?d=e", "ä€😀", "ß",
    "\\",
    "'", '"', "null", "true", "NaN", "99999999999999999999", "a" * 300, "\n", "k=v", "UTC",
    "Europe/Berlin", "YWI=", "616263", "$.a", "yyyy-MM-dd", "(", "a*", "x\0y",
)  # fmt: skip


def events_of(spark: SparkSession, count: int) -> DataFrame:
    """Return `count` events, which are always the same."""
    rng = random.Random(5)
    rows = [(n, *(_value(rng, type_) for type_ in COLUMNS.values())) for n in range(count)]
    return spark.createDataFrame(rows, SCHEMA).repartition(2).localCheckpoint()


def _value(rng: random.Random, type_: str) -> Any:
    """Return a random value of a type, often null or an extreme value."""
    if rng.random() < 0.12:
        return None
    bits = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}.get(type_)
    if bits is not None:
        edge = rng.choice([0, 1, -1, 2, (1 << bits) - 1, -(1 << bits)])
        return edge if rng.random() < 0.4 else rng.randrange(-100, 100)
    if type_ in ("FLOAT", "DOUBLE"):
        edges = [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 0.5, 1e30, -1e-30]
        return rng.choice(edges) if rng.random() < 0.4 else round(rng.uniform(-100, 100), 3)
    if type_.startswith("DECIMAL"):
        return Decimal(rng.randrange(-10_000, 10_000)) / 100
    if type_ == "STRING":
        return rng.choice(_TEXTS)
    if type_ == "BINARY":
        return rng.choice([b"", b"a", b"\xff\xfe", b"abc", bytes(range(20))])
    if type_ == "BOOLEAN":
        return rng.random() < 0.5
    if type_ == "DATE":
        return rng.choice(_DAYS) if rng.random() < 0.5 else _day(rng)
    if type_.startswith("TIMESTAMP"):
        return dt.datetime.combine(_day(rng), dt.time(rng.randrange(24), rng.randrange(60)))
    if type_ == "ARRAY<STRING>":
        return [rng.choice([*_TEXTS[:12], None]) for _ in range(rng.randrange(4))]
    if type_ == "ARRAY<INT>":
        return [rng.choice([0, 1, -1, 7, None]) for _ in range(rng.randrange(4))]
    if type_ == "ARRAY<FLOAT>":
        return [rng.random() for _ in range(rng.choice([0, 2, 3]))]
    if type_.startswith("MAP"):
        return {rng.choice("abk"): rng.choice(["v", "", None]) for _ in range(rng.randrange(3))}
    return (rng.choice([1, None]), rng.choice(["x", None]))


def _day(rng: random.Random) -> dt.date:
    return dt.date(1970, 1, 1) + dt.timedelta(days=rng.randrange(0, 25_000))


def normal_predicates(count: int) -> list[str]:
    """Return `count` ordinary predicates on these events, which are always the same."""
    rng = random.Random(6)
    kinds = [
        lambda: f"i > {rng.randrange(-100, 100)}",
        lambda: f"d BETWEEN {rng.randrange(-100, 0)} AND {rng.randrange(0, 100)}",
        lambda: f"t = '{rng.choice(['abc', '12', '1.5', 'a b'])}' OR i = {rng.randrange(100)}",
        lambda: f"l IN ({rng.randrange(100)}, {rng.randrange(100)}, 0)",
        lambda: f"array_contains(tags, '{rng.choice(['0', '1', '12'])}')",
        lambda: f"ts IS NULL OR ts > '{2000 + rng.randrange(30)}-01-01'",
        lambda: f"day >= DATE '{1980 + rng.randrange(50)}-01-01' AND o",
        lambda: f"p < {rng.randrange(-100, 100)}.50 AND NOT o",
        lambda: f"t LIKE '{rng.choice('1aA%')}%' AND f IS NOT NULL",
        lambda: f"lower(t) = '{rng.choice(['abc', 'nan'])}'",
        lambda: f"length(u) > {rng.randrange(10)} AND s <> 0",
        lambda: f"n % 7 = {rng.randrange(7)}",
    ]
    return [kinds[n % len(kinds)]() for n in range(count)]
