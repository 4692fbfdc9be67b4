"""Match DataFrames of events to DataFrames of subscriptions, on Spark.

`Matcher` is an estimator of Spark ML: `fit` turns subscriptions into a `MatcherModel`, whose
`transform` matches events. `match` does both in one call. `reduce_subscriptions` finds redundant
subscriptions, and `assign_subscribers` assigns the rows of a DataFrame to brokers.

The driver plans; parsing, indexing and matching run in Spark's Python workers. A class whose name
ends in `Task` is a function that a worker runs on the rows of a partition. Names are imported on
first use, so that a worker loads only the modules that its task needs.

Modules, in the order in which data passes through them:

    params            parameters that `Matcher` and `MatcherModel` share
    matcher           `Matcher` and `match`: the estimator
    schemas           conversion of Spark schemas to spaces; columns of attributes
    session_settings  session settings that change the meaning of predicates
    java_time_zones   time zones of the Java that Spark runs on
    id_types          conversion of ids between Spark's types and those of a store
    validity          validity intervals, which must contain the time of an event
    store_location    location of a model's store, in the forms of covey and of Spark
    fitting           parse and index subscriptions in workers, commit one version of a store
    zones             spread subscriptions over zones, and send events to their zones
    event_sample      sample of events that does not depend on partitions
    model_state       `ModelState`: the version of a store with which a model matches
    model             `MatcherModel`: transform, update, evaluation errors, SQL
    matching          match events in workers, write pairs or arrays of ids
    model_io          save and load a model
    covering          find redundant subscriptions and build filters
    planning          assign subscribers to brokers
    workers           choose the Python of workers, run one task, re-raise errors of workers
    query_log         mute PySpark's log of failed queries
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.spark.covering.reduce import reduce_subscriptions
    from covey.spark.covering.result import ReductionResult
    from covey.spark.matcher import Matcher, match
    from covey.spark.model import MatcherModel
    from covey.spark.planning.distributed_plan import DistributedPlan, assign_subscribers

__all__ = [
    "DistributedPlan",
    "Matcher",
    "MatcherModel",
    "ReductionResult",
    "assign_subscribers",
    "match",
    "reduce_subscriptions",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "ReductionResult": "covering.result",
        "Matcher": "matcher",
        "MatcherModel": "model",
        "DistributedPlan": "planning.distributed_plan",
        "reduce_subscriptions": "covering.reduce",
        "match": "matcher",
        "assign_subscribers": "planning.distributed_plan",
    },
)
