"""Python workers freeze their long-lived objects, so that garbage collection skips them."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc
from covey.spark.matching.worker_cache import freeze_gc
frozen = []
for task in range(40):
    kept = [[] for _ in range(1000)]
    kept.append(kept)  # garbage as soon as there is the next
    freeze_gc()
    frozen.append(gc.get_freeze_count())
print(frozen[0] > 1000, frozen[31] < frozen[0] + 20_000, len(set(frozen[31:])))
"""


def test_a_worker_stops_freezing_after_its_first_tasks() -> None:
    """This runs in a process of its own, because frozen objects stay frozen."""
    said = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (said.stdout, said.stderr) == ("True True 1\n", "")
