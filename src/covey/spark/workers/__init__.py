"""Spark's Python workers, as the driver sees them.

In the order in which a job needs them:

- `worker_python`: choose the Python that workers run, and check that it has covey.
- `single_task`: run one function in one task, for work that the driver must not do itself.
- `worker_errors`: raise errors of workers on the driver as what they are.

What workers do with events and subscriptions is in the classes whose names end in `Task`, beside
the jobs that run them.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.spark.workers.single_task import run_in_task
    from covey.spark.workers.worker_errors import reraise_worker_errors
    from covey.spark.workers.worker_python import prepare_worker_python

__all__ = [
    "prepare_worker_python",
    "reraise_worker_errors",
    "run_in_task",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "prepare_worker_python": "worker_python",
        "reraise_worker_errors": "worker_errors",
        "run_in_task": "single_task",
    },
)
