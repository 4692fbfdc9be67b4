"""Fit subscriptions: parse and index them in Spark's workers, commit one version.

Subscriptions are shuffled once by id. Each task parses its partition and writes it as one staged
segment; rejected subscriptions are rows of the task's output. Expressions whose types only Spark
knows are returned to the driver, which has Spark's analyzer find their types. Their subscriptions
wait and are then encoded again. A single task commits the staged segments.

In the order in which data passes through them:

    change_feed          changes in a DataFrame or a Delta change feed: upserts and deletions
    subscription_loader  `load_subscriptions`: the rounds of a fit or an update, on the driver
    encode_task          `EncodeTask`: predicates or range columns to a staged segment
    range_columns        constraints in two columns, a lower and an upper end
    task_results         rows that an `EncodeTask` returns: segments, rejections, expressions
    expression_analysis  `SparkExpressionTypes`: types of expressions from Spark's analyzer

Guarantee: a task that Spark runs twice stages the same subscriptions twice, but commits none of
them. Only the committed version is read.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.spark.fitting.expression_analysis import SparkExpressionTypes

__all__ = [
    "SparkExpressionTypes",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "SparkExpressionTypes": "expression_analysis",
    },
)
