"""The daemon that forks the workers of the bare pipeline, like covey's own daemon.

It imports all modules that workers need, and excludes them from the garbage collection after each
task.
"""

from __future__ import annotations

import gc
from importlib import import_module

from pyspark.daemon import manager

if __name__ == "__main__":
    for name in ("pyspark.worker", "benchmarks.on_kafka.identity"):
        import_module(name)
    gc.freeze()
    manager()
