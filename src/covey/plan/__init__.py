"""Plans: which leaf broker serves each subscriber, and the filter of each broker.

A plan assigns every subscriber to a leaf of a broker tree and gives every broker a filter of a few
rectangles of event space. The aim is the smallest total bandwidth, within limits on delay, on the
load of each leaf, and on the number of rectangles of a filter. `Plan.verify` checks any plan; it
uses no data structure of the planners. From the rest of covey, the package imports only
`covey.errors` and the helpers for argument checks, kernels and lazy exports.

Modules, in the order in which data passes through them:

- `model`: the problem, the broker tree, filters, the plan, and its file format.
- `groups`: equal subscribers become groups, and event space becomes a grid of cells.
- `greedy_assignment`: `greedy` assigns subscribers one after another, each to the leaf at which
  filters widen least.
- `baselines`: `assign_nearest` and `balance_loads`, plans for comparison.
- `capacity`: assigns all subscribers with filters that were made for a sample, within the
  capacities of leaves.
- `local_search`: `search`, large neighbourhood search; the planner to use.
- `incremental_replan`: `replan` adapts a plan to changed subscribers, with few moves.
- `lp`: `slp`, the linear-programming method of the paper; for comparison.
- `bounds`: `lower_bound`, a bandwidth that no plan can go below.
- `workload`: generated problems for tests, benchmarks and examples.
- `kernels`: the compiled loops of all these modules.
"""

from covey.plan.baselines import assign_nearest, balance_loads
from covey.plan.bounds.bandwidth_bound import lower_bound
from covey.plan.greedy_assignment import greedy
from covey.plan.incremental_replan import replan
from covey.plan.local_search.plan_search import search
from covey.plan.lp.multi_level import SlpResult, slp
from covey.plan.model.broker_tree import PUBLISHER, BrokerTree
from covey.plan.model.plan import Plan, Violations
from covey.plan.model.plan_io import SavedPlan
from covey.plan.model.problem import Problem, Subscribers

__all__ = [
    "PUBLISHER",
    "BrokerTree",
    "Plan",
    "Problem",
    "SavedPlan",
    "SlpResult",
    "Subscribers",
    "Violations",
    "assign_nearest",
    "balance_loads",
    "greedy",
    "lower_bound",
    "replan",
    "search",
    "slp",
]
