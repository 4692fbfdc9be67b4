"""Functions with which the driver prepares Spark's Python workers, and runs tasks in them.

Modules, in the order in which a job needs them:

- `worker_python`: choose the Python that workers run, and check that it can import covey.
- `single_task`: run one function in one task, for work that the driver should not do itself.
- `shared_store`: open a store in a task, and report a store that only the driver can see.
- `worker_errors`: raise an error of a worker again on the driver, with its own type.

The tasks that process events and subscriptions are in the packages of the jobs that run them. Their
names end in `Task`.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.spark.workers.shared_store import describe_worker, open_shared_store
    from covey.spark.workers.single_task import ATTEMPT_S, run_in_task
    from covey.spark.workers.worker_errors import reraise_worker_errors
    from covey.spark.workers.worker_python import prepare_worker_python

__all__ = [
    "ATTEMPT_S",
    "describe_worker",
    "open_shared_store",
    "prepare_worker_python",
    "reraise_worker_errors",
    "run_in_task",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "ATTEMPT_S": "single_task",
        "describe_worker": "shared_store",
        "open_shared_store": "shared_store",
        "prepare_worker_python": "worker_python",
        "reraise_worker_errors": "worker_errors",
        "run_in_task": "single_task",
    },
)
