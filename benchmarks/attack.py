"""Hostile subscriptions beside normal ones, and what is exact of all that Spark can compute.

What is tried in each part is said in `benchmarks/on_attack/`: all on Spark, with ANSI mode on,
where most expressions can raise, but for how long texts take to be refused. The other results are
counts, and what is found wrong is named on stderr.
"""

from __future__ import annotations

import json
import sys

from benchmarks.harness import Value
from benchmarks.on_attack import crowd, real, registry, texts
from benchmarks.on_attack.sizes import SHRINK, Sizes
from benchmarks.on_spark.session import session
from benchmarks.parts import asked_sizes, keys_of

_PARTS = (real, texts, crowd, registry)

KEYS = keys_of(_PARTS)


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Sizes are the published ones, `full` or not; a test divides them and keeps nothing."""
    sizes = asked_sizes(Sizes(), SHRINK, full)
    results: dict[str, Value] = {}
    with session({"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"}) as spark:
        for part in _PARTS:
            if keys := only & part.KEYS.keys():
                results |= part.run(spark, sizes, keys)
                print(json.dumps(results), file=sys.stderr)  # a stopped run has told so much
    return {key: value for key, value in results.items() if key in only}
