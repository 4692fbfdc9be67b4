"""Realistic predicates on events with the columns that they use."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.harness import Value
from benchmarks.on_attack.comparison import FAILURES, fitted, found_by, wrong_among
from benchmarks.on_attack.sizes import Sizes

__all__ = ["KEYS", "run"]

KEYS = {
    "real_predicates": "predicates of alerts, saved searches, fraud rules, logs and sensors",
    "real_accepted": "predicates that are accepted",
    "real_wrong": "accepted predicates whose matches differ from where: should be 0",
    "real_failed": "1 if the fit or the match failed as a whole, else 0",
}

_FILE = Path(__file__).parent.parent.parent / "tests" / "data" / "real-life.sql"


def run(spark: SparkSession, sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of one model with all predicates of the file."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    schema = next(line for line in lines if line.startswith("-- Columns: ")).partition(": ")[2]
    texts = [line for line in lines if line.strip() and not line.startswith("--")]
    events = _events(spark, schema, sizes.events)
    subscriptions = {f"p{n}": text for n, text in enumerate(texts)}
    try:
        outcome = found_by(fitted(events, subscriptions, vectors={"embedding": 3}), events)
    except FAILURES as error:
        print(f"failed: {str(error)[:500]}", file=sys.stderr)
        return {
            "real_predicates": len(texts),
            "real_accepted": 0,
            "real_wrong": 0,
            "real_failed": 1,
        }
    for id_, reason in sorted(outcome.refused.items()):
        print(f"refused: {subscriptions[id_]}: {reason}", file=sys.stderr)
    wrong = wrong_among(events, subscriptions, outcome)
    for id_ in wrong:
        print(f"wrong: {subscriptions[id_]}", file=sys.stderr)
    return {
        "real_predicates": len(texts), "real_accepted": len(texts) - len(outcome.refused),
        "real_wrong": len(wrong), "real_failed": 0,
    }  # fmt: skip


def _events(spark: SparkSession, schema: str, count: int) -> DataFrame:
    """Return events whose texts are string literals of the predicates, so that some match."""
    rng = random.Random(7)
    words = sorted(set(re.findall(r"'([^'%]*)'", _FILE.read_text(encoding="utf-8"))))
    columns = spark.createDataFrame([], f"n INT, {schema}").schema.fields[1:]
    rows = spark.range(count).selectExpr("CAST(id AS INT) AS n")
    texts = F.array(*(F.lit(word) for word in words))
    for position, field in enumerate(columns):
        kind = field.dataType.simpleString()
        mixed = F.xxhash64("n", F.lit(position))
        text = F.get(texts, F.pmod(mixed, F.lit(len(words))).cast("int"))
        number = (F.pmod(mixed, F.lit(1000)) - 200) / rng.choice([1, 2, 10])
        value = F.lit(None)
        if kind == "string":
            value = text
        elif kind in ("date", "timestamp"):
            value = F.timestamp_seconds(F.lit(1_770_000_000) + F.pmod(mixed, F.lit(10_000_000)))
        elif kind == "boolean":
            value = F.pmod(mixed, F.lit(2)) == 0
        elif kind == "array<string>":
            value = F.array(text, F.lit("sale"))
        elif kind in ("array<double>", "array<float>"):
            value = F.array(number, number + 1, number * 2)
        elif kind == "map<string,string>":
            value = F.create_map(F.lit("color"), text)
        elif kind.startswith("struct"):
            values = [
                (text if member.dataType.simpleString() == "string" else number)
                .cast(member.dataType).alias(member.name)
                for member in field.dataType.fields  # type: ignore[attr-defined]
            ]  # fmt: skip
            value = F.struct(*values)
        elif not kind.startswith("array"):
            value = number
        is_null = F.pmod(mixed, F.lit(11)) == 0
        nullable_value = F.when(~is_null, value.cast(field.dataType))
        rows = rows.withColumn(field.name.replace(".", "\0"), nullable_value)
    named = [F.col(f"`{name}`").alias(name.replace("\0", ".")) for name in rows.columns]
    return rows.select(*named).localCheckpoint()
