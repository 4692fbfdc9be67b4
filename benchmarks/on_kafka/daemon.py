"""The process that workers of the bare pipeline are forked from, as covey has one.

All that they need is imported, and is not looked at for garbage after each task.
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
