"""Zones: what spreading subscriptions over them costs, how even they are, and how they grow.

What is timed in each part is said in `benchmarks/on_zones/`; one part runs on Spark, the others in
this process, on one core. All answers of zones are compared with those of one segment.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import Value
from benchmarks.on_zones import balance, capped, growth, replication
from benchmarks.on_zones.sizes import SHRINK, Sizes
from benchmarks.parts import check_published, keys_of

_HERE = (balance, replication, growth)

KEYS = keys_of([*_HERE, capped])


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Sizes are the published ones, `full` or not; a test divides them and keeps nothing."""
    sizes = Sizes.asked()
    check_published(sizes.is_published, full, SHRINK)
    results: dict[str, Value] = {}
    for part in _HERE:
        if keys := only & part.KEYS.keys():
            results |= part.run(sizes, keys)
            print(json.dumps(results), file=sys.stderr)  # a stopped run has told so much
    if keys := only & capped.KEYS.keys():
        with tempfile.TemporaryDirectory(prefix="covey-") as folder:
            results |= capped.run(Path(folder), sizes, keys)
    return {key: value for key, value in results.items() if key in only}
