"""Random predicates from the functions in Spark's registry.

Calls are generated as for the benchmark `attack`: most are Spark's own examples, in which some
arguments are replaced by columns. Only calls that Spark analyses are kept, with their types. A
predicate then compares such calls with calls of the same type, with columns, or with itself.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.harness import progress
from benchmarks.on_attack.registry import call_generator
from covey.language.semantics.row_functions import CLOCK_FUNCTIONS, NEEDS_ARGUMENT, ROW_FUNCTIONS

__all__ = ["analysable", "generate_predicates"]

_CALLED = re.compile(r"([A-Za-z_]\w*)\s*\(")
_WORDS = frozenset({"cast", "decimal", "interval"})
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_BATCH = 50  # expressions in one analysis

_FORMS = (
    "{0} IS NULL", "{0} IS NOT NULL", "NOT ({0} IS NULL)", "{0} = {1}", "{0} <> {1}", "{0} > {1}",
    "{0} <=> {1}", "{0} IN ({1}, {2})", "{0} NOT IN ({1}, {2})", "{0} BETWEEN {1} AND {2}",
    "coalesce({0}, {1}) = {2}", "i > 0 AND {0} = {1}", "{0} = {1} OR o", "o AND {0} > {1}",
    "if({0} IS NULL, i, l) > 0", "hash({0}) % 3 = 1", "length(CAST({0} AS STRING)) > 2",
    "CASE WHEN {0} = {1} THEN o ELSE i > 5 END", "i IN (1, 2, 7) OR ({0} < {1} AND d > 0)",
)  # fmt: skip
_CONDITIONS = ("{0}", "NOT {0}", "{0} AND i > 0", "{0} OR o", "{0} IS NOT TRUE", "{0} = {1}")


def generate_predicates(events: DataFrame, count: int, seed: int) -> tuple[list[str], int]:
    """Return `count` predicates that Spark analyses, and the number of functions in them.

    All functions are row functions of covey's allowlist. Those of the current time are left out,
    because a second query has another time.

    Args:
        events: events with the columns of `benchmarks.on_attack.values`.
        count: number of predicates.
        seed: seed of the random choices.
    """
    rng = random.Random(seed)
    by_type = _calls_by_type(events, rng, max(200, count // 3))
    calls = [(call, type_) for type_, texts in by_type.items() for call in texts]
    predicates: dict[str, None] = {}
    while len(predicates) < count:
        progress(len(predicates), count, "predicates")
        batch: list[str] = []
        for _ in range(_BATCH):
            call, type_ = rng.choice(calls)
            alike = by_type[type_]
            forms = _CONDITIONS if type_ == "boolean" and rng.random() < 0.7 else _FORMS
            batch.append(rng.choice(forms).format(call, rng.choice(alike), rng.choice(alike)))
        found = analysable(events, batch)
        predicates |= dict.fromkeys(text for text, type_ in found.items() if type_ == "boolean")
    chosen = list(predicates)[:count]
    progress(count, count, "predicates")
    names = {name for text in chosen for name in _functions(text)}
    return chosen, len(names)


def _calls_by_type(events: DataFrame, rng: random.Random, count: int) -> dict[str, list[str]]:
    """Return at least `count` calls that Spark analyses, by the names of their types."""
    generate = call_generator(events.sparkSession)
    names = sorted(ROW_FUNCTIONS - CLOCK_FUNCTIONS.keys())
    by_type: dict[str, list[str]] = {}
    found_count = number = 0
    while found_count < count:
        progress(min(found_count, count), count, "calls")
        batch: list[str] = []
        while len(batch) < _BATCH:
            number += 1
            call = generate(rng, names[number % len(names)])
            if _is_admitted(call):
                batch.append(call)
        for call, type_ in analysable(events, batch).items():
            by_type.setdefault(type_, []).append(call)
            found_count += 1
    progress(count, count, "calls")
    return by_type


def _functions(text: str) -> list[str]:
    called = [name.lower() for name in _CALLED.findall(_QUOTED.sub("''", text))]
    return [name for name in called if name not in _WORDS]


def _is_admitted(call: str) -> bool:
    """Return whether all functions are on the allowlist, and none returns the current time."""
    names = _functions(call)
    has_clock = any(name in CLOCK_FUNCTIONS for name in names)
    is_bare = any(f"{name}()" in call.lower() for name in NEEDS_ARGUMENT)
    return not has_clock and not is_bare and all(name in ROW_FUNCTIONS for name in names)


def analysable(events: DataFrame, texts: Sequence[str]) -> dict[str, str]:
    """Return the expressions that Spark analyses, each with the name of its type."""
    if not texts:
        return {}
    try:
        columns = [F.expr(text).alias(f"c{i}") for i, text in enumerate(texts)]
        fields = events.select(*columns).schema.fields
    except (PySparkException, Py4JJavaError):
        if len(texts) == 1:
            return {}
        half = len(texts) // 2
        return analysable(events, texts[:half]) | analysable(events, texts[half:])
    return {text: field.dataType.simpleString() for text, field in zip(texts, fields, strict=True)}
