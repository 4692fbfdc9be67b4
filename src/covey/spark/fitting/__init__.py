"""Fit subscriptions: parse and index them in Spark's workers, commit them as a version.

Subscriptions are shuffled once by id. Each task parses its partition and writes the accepted
subscriptions as a staged segment; rejected subscriptions are rows of the task's output. A task also
returns the expressions whose types only Spark knows, and the subscriptions that compare them. The
driver has Spark's analyzer find these types, and then the waiting subscriptions are encoded again.
A single task commits the staged segments.

Modules, in the order in which data passes through them:

    change_feed          changes in a DataFrame or a Delta change feed: upserts and removals
    subscription_loader  `load_subscriptions`: the rounds of a fit or an update, on the driver
    encode_task          `EncodeTask`: make a staged segment from predicates or range columns
    range_columns        intervals whose ends are in two columns
    task_results         rows that an `EncodeTask` returns: segments, rejections, expressions
    expression_analysis  `SparkExpressionTypes`: types of expressions from Spark's analyzer

Guarantee: if Spark runs an encoding task twice, the staged segment of only one run is committed.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.spark.fitting.expression_analysis import UNLIMITED, SparkExpressionTypes

__all__ = [
    "UNLIMITED",
    "SparkExpressionTypes",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "UNLIMITED": "expression_analysis",
        "SparkExpressionTypes": "expression_analysis",
    },
)
