"""Predicates with all functions of Spark's registry: how many are accepted, and their matches.

The limits of predicates are raised, so that a refusal is one of the language: patterns, formats and
sizes need not be literals. A sample shows how many are accepted with the default limits. Half of
the predicates are for ANSI mode.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from benchmarks.harness import Value, progress
from benchmarks.on_attack.comparison import FAILURES, fitted, found_by, wrong_among
from benchmarks.on_attack.values import events_of
from benchmarks.on_language.generator import generate_predicates
from covey.language import Parser
from covey.spark.fitting import SparkExpressionTypes
from covey.spark.schemas import build_space
from covey.spark.session_settings import read_session_settings

__all__ = ["KEYS", "run"]

KEYS = {
    "predicates": "random predicates that Spark analyses, of functions on the allowlist",
    "functions": "different functions in these predicates",
    "accepted": "share of these predicates that covey accepts",
    "accepted_by_default": "the same with default limits, of a sample",
    "disagreements": "accepted predicates whose matches differ from those of where: should be 0",
}

_PREDICATES, _GROUP, _EVENTS, _SAMPLE = 20_000, 250, 100, 1_000
_LIMITS = {"any_regex": True, "any_argument": True, "max_growth": 1_000_000_000}


def run(spark: SparkSession, only: frozenset[str], shrink: int = 1) -> dict[str, Value]:
    """Return the results for the keys in `only`; `shrink` divides the number of predicates."""
    count = _PREDICATES // shrink
    accepted = wrong = functions = defaults = sampled = 0
    for mode, ansi in enumerate(("true", "false")):
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        events = events_of(spark, _EVENTS)
        texts, names = generate_predicates(events, count // 2, seed=21 + mode)
        functions = max(functions, names)
        for start in range(0, len(texts), _GROUP):
            progress(start, len(texts), f"predicates, ANSI {ansi}")
            group = {f"p{start + n}": text for n, text in enumerate(texts[start : start + _GROUP])}
            taken, mistaken = _compare(events, group)
            accepted += taken
            wrong += mistaken
        progress(len(texts), len(texts), f"predicates, ANSI {ansi}")
        sample = texts[: _SAMPLE // 2]
        sampled += len(sample)
        defaults += _count_accepted(events, sample)
    results: dict[str, Value] = {
        "predicates": count // 2 * 2, "functions": functions,
        "accepted": round(accepted / (count // 2 * 2), 4),
        "accepted_by_default": round(defaults / sampled, 4), "disagreements": wrong,
    }  # fmt: skip
    return {key: value for key, value in results.items() if key in only}


def _compare(events: DataFrame, group: dict[str, str]) -> tuple[int, int]:
    """Return how many predicates are accepted, and how many of these match other events.

    If a group fails as a whole, its halves are compared; a predicate that fails alone is wrong.
    """
    try:
        outcome = found_by(fitted(events, group, limits=_LIMITS), events)
        wrong = wrong_among(events, group, outcome)
    except FAILURES as error:
        if len(group) == 1:
            print(f"failed: {next(iter(group.values()))}: {str(error)[:300]}", file=sys.stderr)
            return 1, 1
        half = len(group) // 2
        parts = list(group.items())
        first, second = _compare(events, dict(parts[:half])), _compare(events, dict(parts[half:]))
        return first[0] + second[0], first[1] + second[1]
    for id_, reason in outcome.refused.items():
        print(f"refused: {group[id_]}: {(reason or '').splitlines()[0]}", file=sys.stderr)
    for id_ in wrong:
        print(f"wrong: {group[id_]}", file=sys.stderr)
    return len(group) - len(outcome.refused), len(wrong)


def _count_accepted(events: DataFrame, texts: list[str]) -> int:
    """Return how many texts the parser accepts with default limits."""
    spark = events.sparkSession
    space = replace(build_space(events.schema, read_session_settings(spark), {}), derived=())
    types = SparkExpressionTypes(spark, events.schema, ())
    return len(texts) - len(Parser(space, types=types).parse(texts).rejected)
