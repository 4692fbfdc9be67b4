"""Random expressions of all functions in Spark's registry, with arguments of random types.

Most calls are Spark's own examples, in which some arguments are replaced by columns, mostly of a
similar type. The other calls have random arguments, and Spark rejects most of them. The generator
is independent of the language that covey accepts: it is not the one of the language tests.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from benchmarks.harness import Value, progress
from benchmarks.on_attack.comparison import FAILURES, fitted, found_by, wrong_among
from benchmarks.on_attack.sizes import Sizes
from benchmarks.on_attack.values import COLUMNS, events_of

__all__ = ["KEYS", "call_generator", "run"]

KEYS = {
    "registry_expressions": "random expressions of the functions in Spark's registry",
    "registry_taken": "expressions that are accepted; others are rejected with a reason",
    "registry_wrong": "accepted expressions whose matches differ from where: should be 0",
    "registry_unexplained": "expressions that are rejected without a reason: should be 0",
    "registry_failed": "fits or matches that failed as a whole: should be 0",
}

_LITERALS = (
    "NULL", "0", "1", "-1", "2", "10", "300", "1.5", "1e3", "0.1BD", "5L", "''", "'a'", "'1'",
    "'abc'",
    "'%'", "','", "'a,b'", "'yyyy-MM-dd'", "'UTC'", "'UTF-8'", "'$.a'", "'{\"a\": 1}'", "'a INT'",
    "true", "false", "DATE '2024-02-29'", "TIMESTAMP '2024-01-01 12:00:00'", "X'6162'",
    "array(1, 2)",
    "array('a', 'b')", "map('a', 'b')", "named_struct('a', 1)", "INTERVAL '1' DAY", "'MM'",
    "'DAY'",
    "TIMESTAMP_NTZ '2024-01-01 12:00:00'", "array()", "CAST(NULL AS INT)", "256",
)  # fmt: skip
_ALIKE = (
    (r"'.*'", ("t", "u")),
    (r"-?\d+", ("b", "s", "i", "l", "n")),
    (r"-?[\d.]+(E-?\d+)?|-?\d+\.\d+.*", ("d", "f", "p", "q")),
    (r"true|false", ("o",)),
    (r"(?i)date.*", ("day", "CAST(ts AS DATE)")),
    (r"(?i)timestamp_ntz.*", ("ntz",)),
    (r"(?i)timestamp.*", ("ts", "ntz")),
    (r"(?i)x'.*", ("x",)),
    (r"array\('.*", ("tags", "split(t, ',')")),
    (r"array\(.*", ("nums", "vec")),
    (r"map\(.*", ("m",)),
    (r"(named_)?struct\(.*", ("st",)),
)
"""Patterns of arguments, and the columns that may replace an argument of each pattern."""

_FORMS = (
    "{0}", "{0} IS NULL", "{0} IS NOT NULL", "NOT ({0} IS NULL)", "CAST({0} AS STRING) > 'a'",
    "{0} = {1}", "{0} > {1}", "{0} <=> {1}", "{0} IN ({1}, {1})", "hash({0}) % 3 = 1",
    "CAST({0} AS STRING) LIKE '%1%'", "{0} BETWEEN {1} AND {1}", "coalesce({0}, {0}) = {1}",
    "i > 0 AND {0} = {1}", "{0} = {1} OR o", "if({0} IS NULL, i, l) > 0",
    "length(CAST({0} AS STRING)) > 2",
)  # fmt: skip


def run(spark: SparkSession, sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of all expressions, with `sizes.at_once` of them in one model."""
    events = events_of(spark, sizes.events)
    texts = expressions(spark, sizes.expressions)
    accepted = wrong = unexplained = failed = 0
    for start in range(0, len(texts), sizes.at_once):
        progress(start, len(texts), "expressions")
        group = {
            f"e{start + n}": text for n, text in enumerate(texts[start : start + sizes.at_once])
        }
        try:
            outcome = found_by(fitted(events, group), events)
        except FAILURES as error:
            failed += 1
            print(f"failed at {start}: {str(error)[:500]}", file=sys.stderr)
            continue
        wrong_ids = wrong_among(events, group, outcome)
        for id_ in wrong_ids:
            print(f"wrong: {group[id_]}", file=sys.stderr)
        accepted += len(group) - len(outcome.refused)
        wrong += len(wrong_ids)
        unexplained += sum(not reason for reason in outcome.refused.values())
    return {
        "registry_expressions": len(texts), "registry_taken": accepted, "registry_wrong": wrong,
        "registry_unexplained": unexplained, "registry_failed": failed,
    }  # fmt: skip


def expressions(spark: SparkSession, count: int) -> list[str]:
    """Return `count` predicates, which are always the same for one version of Spark."""
    rng = random.Random(11)
    names = sorted(row["function"] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect())
    examples = {name: _examples(spark, name) for name in names}
    return [
        rng.choice(_FORMS).format(_call(rng, names[n % len(names)], examples, 2), _argument(rng))
        for n in range(count)
    ]


def call_generator(spark: SparkSession) -> Callable[[random.Random, str], str]:
    """Return a function that returns a random call of the function with a given name."""
    names = sorted(row["function"] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect())
    examples = {name: _examples(spark, name) for name in names}
    return lambda rng, name: _call(rng, name, {name: []} | examples, 2)


def _examples(spark: SparkSession, name: str) -> list[list[str]]:
    """Return the arguments of a function in each of Spark's own examples."""
    quoted = name if re.fullmatch(r"\w+", name) else f"`{name}`"
    try:
        rows = spark.sql(f"DESCRIBE FUNCTION EXTENDED {quoted}").collect()
    except PySparkException:
        return []
    text = "\n".join(row[0] for row in rows)
    calls = re.findall(rf"SELECT {re.escape(name)}\((.*)\);", text)
    return [_split(call) for call in calls]


def _split(arguments: str) -> list[str]:
    """Return the arguments of a call, split at commas outside of quotes and brackets."""
    parts, depth, quote = [""], 0, ""
    for letter in arguments:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        depth += (letter in "([{<") - (letter in ")]}>") if not quote else 0
        if letter == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _call(rng: random.Random, name: str, examples: dict[str, list[list[str]]], depth: int) -> str:
    if not re.fullmatch(r"\w+", name):
        return f"({_argument(rng)} {name} {_argument(rng)})"
    if examples[name] and rng.random() < 0.8:
        arguments = [_exchanged(rng, argument) for argument in rng.choice(examples[name])]
    else:
        arguments = [_argument(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))]
    if depth > 1 and arguments and rng.random() < 0.2:
        position = rng.randrange(len(arguments))
        arguments[position] = _call(rng, rng.choice(list(examples)), examples, depth - 1)
    return f"{name}({', '.join(arguments)})"


def _exchanged(rng: random.Random, argument: str) -> str:
    """Return an argument, or a column or random argument in its place."""
    chance = rng.random()
    if chance < 0.4:
        return argument
    if chance > 0.9:
        return _argument(rng)
    columns = [names for form, names in _ALIKE if re.fullmatch(form, argument)]
    return rng.choice(columns[0]) if columns else argument


def _argument(rng: random.Random) -> str:
    return rng.choice(list(COLUMNS)) if rng.random() < 0.65 else rng.choice(_LITERALS)
