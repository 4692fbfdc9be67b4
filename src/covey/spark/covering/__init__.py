"""Reduction on Spark: find redundant subscriptions, and build filters for all subscriptions.

`covey.covering` contains the algorithms, and a protocol of executors that run their steps. This
package implements the protocol with Spark tasks, each for a portion of the regions. Arrays that all
tasks need are written to the store once, and each worker maps them into its memory.

Modules, in the order in which data passes through them:

    reduce            `reduce_subscriptions`: fit, reduce, commit, write tables
    executor          `SparkExecutor`: covers, subsumption and hull merging in Spark tasks
    shared_array_job  `SharedArrayJob`: run a function over portions of rows with shared arrays
    tables            status of each subscription, tables of statuses and filters
    result            `ReductionResult`: statuses, filters, and a model of the subscriptions

Guarantee: the result does not depend on partitions or retries. The model of the result has exactly
the matches that a model of all subscriptions has.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.spark.covering.tables import STATUS_NAMES

__all__ = [
    "STATUS_NAMES",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "STATUS_NAMES": "tables",
    },
)
