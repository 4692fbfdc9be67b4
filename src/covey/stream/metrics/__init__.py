"""Metrics of a stream: the counts and times of each batch, and where they are published.

Workers count notifications, candidates, dead letters and errors in a Spark accumulator; Spark
counts the events of a batch; the driver adds the counts of the control topic. One `BatchMetrics`
per batch is published in the status file (`covey status`), for Prometheus and in the log.

The modules, in the order in which a count passes through them, are:

- `accumulator`: `TaskCounts` of a task; `CountsAccumulator` sums them per batch.
- `batch_metrics`: `CompletedBatch` from Spark's progress report; `BatchMetrics` of one batch.
- `status`: `StatusReporter` writes the status file and serves the Prometheus endpoint.
- `json_logging`: log records as lines of JSON on stderr.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.stream.metrics.json_logging import configure_json_logging
    from covey.stream.metrics.status import read_status

__all__ = [
    "configure_json_logging",
    "read_status",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "configure_json_logging": "json_logging",
        "read_status": "status",
    },
)
