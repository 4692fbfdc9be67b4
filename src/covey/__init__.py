"""Content-based publish/subscribe: match every event to every subscription, exactly.

A subscription is an id with a Spark SQL predicate. It matches an event exactly when
`events.where(predicate)` would keep the event. This module exports what is needed to parse, explain
and render predicates, and the errors; everything else is imported from its package. The packages,
in the order in which data passes through them, are:

- `space`: attributes, types and the ordered keys of values.
- `geometry`: regions, and whether one contains, covers or overlaps another.
- `language`: compiles predicates to regions, renders regions as predicates, explains predicates.
- `index`: indexes over regions; each proposes candidates and then verifies them exactly.
- `zones`: division of the event space into zones, among which work is distributed.
- `covering`: finds redundant subscriptions, and builds filters that together cover all.
- `store`: versions of a set of subscriptions, as immutable segments and manifests.
- `routing`, `overlay`: routing tables of links, brokers and CAN nodes, with a simulator.
- `plan`, `network`: assignment of subscribers to brokers, and the deployment of a plan.
- `spark`, `stream`: matching of Spark DataFrames, and continuous matching of Kafka topics.
- `cli`: the commands of `covey`.
- `workload`, `testing`: generators of events and subscriptions; contracts and oracles for tests.

The modules beside the packages are:

- `errors`: the tree of the exceptions with which covey reports problems to its users.
- `predicates`: functions that return predicates for circles, boxes, vectors and tags.
- `_argument_checks`: checks of the types and ranges of arguments of public functions.
- `sql_names`: quoting of column names for Spark SQL.
- `_types`: type aliases that several packages share.
- `_lazy`: package exports that are imported on first use.
- `_jit`: the `@kernel` decorator, which is numba's `njit` with a content-addressed cache.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.errors import (
        CompilerError,
        CoveyError,
        InvalidArgumentError,
        PredicateError,
        ResultTooLargeError,
        SchemaError,
        StoreError,
        StreamError,
    )
    from covey.language import Explanation, Parser, Predicates, explain, parse, render
    from covey.space import Attribute, Events, SessionSettings, Space

__all__ = [
    "Attribute",
    "CompilerError",
    "CoveyError",
    "Events",
    "Explanation",
    "InvalidArgumentError",
    "Parser",
    "PredicateError",
    "Predicates",
    "ResultTooLargeError",
    "SchemaError",
    "SessionSettings",
    "Space",
    "StoreError",
    "StreamError",
    "explain",
    "parse",
    "render",
]

__version__ = "0.1.0"

_ERROR_NAMES = [name for name in __all__ if name.endswith("Error")]
_SPACE_NAMES = ("Attribute", "Events", "SessionSettings", "Space")
__getattr__ = lazy_exports(
    __name__,
    dict.fromkeys(__all__, "language")
    | dict.fromkeys(_ERROR_NAMES, "errors")
    | dict.fromkeys(_SPACE_NAMES, "space"),
)
