"""Zones: number of replicas, balance of work, and growth with the number of zones.

The modules of `benchmarks/on_zones/` describe what each part measures. Two parts run on Spark, the
others in this process on one core. The pairs that zones find are compared with those of one
segment.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import Value
from benchmarks.on_zones import balance, capped, growth, replication, smart
from benchmarks.on_zones.sizes import SHRINK, Sizes
from benchmarks.parts import asked_sizes, keys_of

_HERE = (balance, replication, growth)
_ON_SPARK = (smart, capped)

KEYS = keys_of([*_HERE, *_ON_SPARK])


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Return the results for the keys in `only`, at the published sizes even without `full`.

    Tests divide the sizes by an environment variable; `full` is refused then.
    """
    sizes = asked_sizes(Sizes(), SHRINK, full)
    results: dict[str, Value] = {}
    with tempfile.TemporaryDirectory(prefix="covey-") as folder:
        for part in (*_HERE, *_ON_SPARK):
            if keys := only & part.KEYS.keys():
                folders = (Path(folder),) if part in _ON_SPARK else ()
                results |= part.run(*folders, sizes, keys)
                print(json.dumps(results), file=sys.stderr)  # partial results
    return {key: value for key, value in results.items() if key in only}
