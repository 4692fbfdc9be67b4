"""Model of broker assignment: the problem, the plan, and what a valid plan must satisfy.

These classes consist of NumPy arrays. Trees, subscribers, problems and plans check theirs when they
are constructed. No class depends on planners: `Plan.verify` computes delays, loads and coverage
from positions and boxes, not from the cells and groups that planners use.

Modules, in the order in which data passes through them:

- `broker_tree`: `BrokerTree`, broker positions and parents; distances to the publisher.
- `problem`: `Subscribers` and `Problem`, with its limits on delay, load and rectangles.
- `filters`: `BrokerFilters`, the rectangles of all brokers; exact volumes and containment.
- `plan`: `Plan` and `Violations`; bandwidth, loads, delays and verification.
- `plan_io`: `SavedPlan`, a plan in a folder with a JSON file and a Parquet file.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.plan.model.filters import BrokerFilters
    from covey.plan.model.plan import count_not_nested

__all__ = [
    "BrokerFilters",
    "count_not_nested",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "BrokerFilters": "filters",
        "count_not_nested": "plan",
    },
)
