"""Random expressions of all functions in Spark's registry, with arguments of random types.

Most calls are Spark's own examples, with some of their arguments exchanged for columns, mostly of a
type that looks alike; the others have any arguments at all, and most of these Spark refuses. The
generator knows nothing of what covey reads: it is not the one that the language is tested with.
"""

from __future__ import annotations

import random
import re
import sys

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from benchmarks.harness import Value, progress
from benchmarks.on_attack.comparison import FAILURES, fitted, found_by, wrong_among
from benchmarks.on_attack.sizes import Sizes
from benchmarks.on_attack.values import COLUMNS, events_of

__all__ = ["KEYS", "run"]

KEYS = {
    "registry_expressions": "random expressions of the functions in Spark's registry",
    "registry_taken": "how many of them are taken; the others are refused with a reason",
    "registry_wrong": "those that are taken and match other events than where keeps",
    "registry_unexplained": "those that are refused without a reason",
    "registry_failed": "times that a fit or a match failed as a whole",
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
"""What an argument looks like, and columns that may stand for it."""

_FORMS = (
    "{0}", "{0} IS NULL", "{0} IS NOT NULL", "NOT ({0} IS NULL)", "CAST({0} AS STRING) > 'a'",
    "{0} = {1}", "{0} > {1}", "{0} <=> {1}", "{0} IN ({1}, {1})", "hash({0}) % 3 = 1",
    "CAST({0} AS STRING) LIKE '%1%'", "{0} BETWEEN {1} AND {1}", "coalesce({0}, {0}) = {1}",
    "i > 0 AND {0} = {1}", "{0} = {1} OR o", "if({0} IS NULL, i, l) > 0",
    "length(CAST({0} AS STRING)) > 2",
)  # fmt: skip


def run(spark: SparkSession, sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """All expressions, some hundreds in one model."""
    events = events_of(spark, sizes.events)
    texts = expressions(spark, sizes.expressions)
    taken = wrong = unexplained = failed = 0
    for start in range(0, len(texts), sizes.at_once):
        progress(start, len(texts), "expressions")
        some = {
            f"e{start + n}": text for n, text in enumerate(texts[start : start + sizes.at_once])
        }
        try:
            found = found_by(fitted(events, some), events)
        except FAILURES as error:
            failed += 1
            print(f"failed at {start}: {str(error)[:500]}", file=sys.stderr)
            continue
        differing = wrong_among(events, some, found)
        for id_ in differing:
            print(f"wrong: {some[id_]}", file=sys.stderr)
        taken += len(some) - len(found.refused)
        wrong += len(differing)
        unexplained += sum(not reason for reason in found.refused.values())
    return {
        "registry_expressions": len(texts), "registry_taken": taken, "registry_wrong": wrong,
        "registry_unexplained": unexplained, "registry_failed": failed,
    }  # fmt: skip


def expressions(spark: SparkSession, count: int) -> list[str]:
    """So many predicates, always the same for one version of Spark."""
    rng = random.Random(11)
    names = sorted(row["function"] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect())
    examples = {name: _examples(spark, name) for name in names}
    return [
        rng.choice(_FORMS).format(_call(rng, names[n % len(names)], examples, 2), _argument(rng))
        for n in range(count)
    ]


def _examples(spark: SparkSession, name: str) -> list[list[str]]:
    """The arguments of a function in Spark's own examples."""
    quoted = name if re.fullmatch(r"\w+", name) else f"`{name}`"
    try:
        rows = spark.sql(f"DESCRIBE FUNCTION EXTENDED {quoted}").collect()
    except PySparkException:
        return []
    text = "\n".join(row[0] for row in rows)
    calls = re.findall(rf"SELECT {re.escape(name)}\((.*)\);", text)
    return [_split(call) for call in calls]


def _split(arguments: str) -> list[str]:
    """Arguments at their commas, but for those within quotes and parentheses."""
    found, depth, quote = [""], 0, ""
    for letter in arguments:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        depth += (letter in "([{<") - (letter in ")]}>") if not quote else 0
        if letter == "," and not depth and not quote:
            found.append("")
        else:
            found[-1] += letter
    return [one.strip() for one in found]


def _call(rng: random.Random, name: str, examples: dict[str, list[list[str]]], depth: int) -> str:
    if not re.fullmatch(r"\w+", name):
        return f"({_argument(rng)} {name} {_argument(rng)})"
    if examples[name] and rng.random() < 0.8:
        arguments = [_exchanged(rng, one) for one in rng.choice(examples[name])]
    else:
        arguments = [_argument(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))]
    if depth > 1 and arguments and rng.random() < 0.2:
        place = rng.randrange(len(arguments))
        arguments[place] = _call(rng, rng.choice(list(examples)), examples, depth - 1)
    return f"{name}({', '.join(arguments)})"


def _exchanged(rng: random.Random, argument: str) -> str:
    """An argument, or something else in its place."""
    chance = rng.random()
    if chance < 0.4:
        return argument
    if chance > 0.9:
        return _argument(rng)
    columns = [names for form, names in _ALIKE if re.fullmatch(form, argument)]
    return rng.choice(columns[0]) if columns else argument


def _argument(rng: random.Random) -> str:
    return rng.choice(list(COLUMNS)) if rng.random() < 0.65 else rng.choice(_LITERALS)
