"""Process from which Spark forks its Python workers, set as `spark.python.daemon.module`.

The daemon loads once the modules and kernels that all workers need. Otherwise every worker would
load them itself, which takes seconds. The loaded objects are excluded from garbage collection:
Spark's workers collect garbage after each task, and traversing these objects would take longer than
matching a small batch.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from importlib import import_module

from pyspark.daemon import manager

from covey.errors import CoveyError
from covey.stream.warm_up import warm_up_worker

_PRELOADED_MODULES = (
    "pyspark.worker",
    "covey.stream.control.purged_subscriptions",
    "covey.stream.control.rebuild",
    "covey.stream.events.notify_task",
)

if __name__ == "__main__":
    for name in _PRELOADED_MODULES:
        import_module(name)
    with suppress(CoveyError, OSError):  # without a warm-up each worker loads its kernels itself
        warm_up_worker()
    gc.freeze()
    manager()
