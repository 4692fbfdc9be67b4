"""Predicates to regions: texts per second, share of Spark's language, and agreement with Spark.

A time includes everything from a list of texts to `Regions` with a new parser, on one core. Sizes
and seeds are fixed. `templated` texts have three conditions and four literals and share a template.
`alerts` is the workload of that name. No two of the `distinct` texts share a template.

The other results are counts; each predicate that is refused or wrong is printed on stderr. The
modules of `benchmarks/on_language/` and `benchmarks/on_attack/real.py` describe the predicates.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pyarrow as pa
import sqlglot

from benchmarks.harness import Value, interleaved, progress
from benchmarks.on_attack import real
from benchmarks.on_attack.sizes import Sizes
from benchmarks.on_language import registry
from benchmarks.on_spark.session import session
from covey import Parser, SessionSettings, Space
from covey.language.values import literals
from covey.testing.random_cases import random_events, random_predicate, random_space
from covey.workload import create_workload

KEYS = {
    "templated_per_s": "texts/s, all with one template",
    "alerts_per_s": "texts/s of the workload alerts",
    "classifieds_per_s": "texts/s of the workload classifieds",
    "distinct_per_s": "texts/s, no two with the same template",
    "distinct_vs_sqlglot": "texts/s of these, relative to sqlglot's parser alone",
    "spark_predicates": "random predicates compared with Spark",
    "spark_in_language": "share of these predicates that covey accepts",
    "spark_disagreements": "events on which Spark and covey disagree, and texts only Spark rejects",
    **registry.KEYS,
    **real.KEYS,
}

_SESSIONS = [
    SessionSettings("UTC", True),
    SessionSettings("America/New_York", True),
    SessionSettings("Asia/Kathmandu", False),
    SessionSettings("America/New_York", False),
    SessionSettings("Europe/Berlin", True),
]


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Return the results for the keys in `only`: speeds first, then the comparison with Spark."""
    results: dict[str, Value] = {}
    cases = {key: make for key, make in _SPEEDS.items() if key in only}
    for key, make in cases.items():
        space, texts = make()
        seconds = interleaved(5, parse=lambda space=space, texts=texts: Parser(space).parse(texts))  # type: ignore[misc]
        results[key] = round(len(texts) / seconds["parse"])
    if only & {"distinct_per_s", "distinct_vs_sqlglot"}:
        results |= _distinct(only)
    if only & {"spark_predicates", "spark_in_language", "spark_disagreements"}:
        results |= {key: value for key, value in _against_spark(5_000).items() if key in only}
    if only & (registry.KEYS.keys() | real.KEYS.keys()):
        with session({"spark.sql.session.timeZone": "UTC"}) as spark:
            if keys := only & real.KEYS.keys():
                results |= real.run(spark, Sizes(), keys)
            if keys := only & registry.KEYS.keys():
                results |= registry.run(spark, keys)
    return {key: value for key, value in results.items() if key in only}


def _templated() -> tuple[Space, list[str]]:
    rng = random.Random(1)
    space = Space.from_types({"symbol": pa.string(), "price": pa.float64(), "qty": pa.int32()})
    return space, [
        f"symbol = 'S{rng.randrange(5_000)}' AND price > {rng.random() * 200:.2f} "
        f"AND qty BETWEEN {rng.randrange(100)} AND {rng.randrange(100, 1_000)}"
        for _ in range(200_000)
    ]


def _workload(name: str) -> tuple[Space, list[str]]:
    workload = create_workload(name)
    return workload.space, workload.generate_predicates(0, 100_000)


_SPEEDS: dict[str, Callable[[], tuple[Space, list[str]]]] = {
    "templated_per_s": _templated,
    "alerts_per_s": lambda: _workload("alerts"),
    "classifieds_per_s": lambda: _workload("classifieds"),
}


def _distinct(only: frozenset[str]) -> dict[str, Value]:
    rng = random.Random(2)
    space = random_space(SessionSettings())
    by_template: dict[str, str] = {}
    while len(by_template) < 10_000:
        text = random_predicate(rng, space, depth=2)
        by_template.setdefault(literals.extract_literals(text)[0], text)
    texts = list(by_template.values())
    seconds = interleaved(
        3,
        covey=lambda: Parser(space).parse(texts),
        sqlglot=lambda: [sqlglot.condition(text, dialect="spark") for text in texts],
    )
    results: dict[str, Value] = {
        "distinct_per_s": round(len(texts) / seconds["covey"]),
        "distinct_vs_sqlglot": round(seconds["sqlglot"] / seconds["covey"], 2),
    }
    return {key: value for key, value in results.items() if key in only}


def _against_spark(predicates: int) -> dict[str, Value]:
    from pyspark.sql import SparkSession

    from covey.testing.spark_oracle import compare_with_spark

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    parsed_count = disagreements = 0
    session_predicates = predicates // len(_SESSIONS)
    for n, settings in enumerate(_SESSIONS):
        progress(n, len(_SESSIONS), "sessions")
        rng = random.Random(1_000 + n)
        space = random_space(settings)
        table = random_events(rng, space, 120)
        report = compare_with_spark(
            spark, space, table, [random_predicate(rng, space) for _ in range(session_predicates)]
        )
        parsed_count += report.parsed_count
        disagreements += len(report.disagreements)
    progress(len(_SESSIONS), len(_SESSIONS), "sessions")
    spark.stop()
    total = session_predicates * len(_SESSIONS)
    return {
        "spark_predicates": total,
        "spark_in_language": round(parsed_count / total, 4),
        "spark_disagreements": disagreements,
    }
