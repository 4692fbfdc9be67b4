"""The process that Spark forks its Python workers from: `spark.python.daemon.module`.

It loads what all of them need, once; each worker for itself would take seconds, and all of them at
the same time. Spark's workers look for garbage after each task: what is here before the first of
them is none, and is not looked at, which would take longer than a small batch.
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
    with suppress(CoveyError, OSError):  # then each worker loads what it uses
        warm_up_worker()
    gc.freeze()
    manager()
