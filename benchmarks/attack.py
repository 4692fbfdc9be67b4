"""Hostile subscriptions beside normal ones, and the correctness of all expressions of Spark.

The parts are described in `benchmarks/on_attack/`. All of them run on Spark with ANSI mode on, in
which most expressions can raise errors; only `texts` needs no Spark job. Except for the times of
`texts`, the results are counts, and each wrong subscription is printed on stderr.
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
    """Return the results for the keys in `only`, at the published sizes even without `full`.

    Tests divide the sizes by an environment variable; `full` is refused then.
    """
    sizes = asked_sizes(Sizes(), SHRINK, full)
    results: dict[str, Value] = {}
    with session({"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"}) as spark:
        for part in _PARTS:
            if keys := only & part.KEYS.keys():
                results |= part.run(spark, sizes, keys)
                print(json.dumps(results), file=sys.stderr)  # partial results
    return {key: value for key, value in results.items() if key in only}
