"""Large neighbourhood search: improve a plan by destroy and repair steps.

A step removes rectangles of a few related brokers, unassigns the subscribers whose boxes are no
longer covered (destroy), assigns them again greedily in a random order (repair), and fits the
changed filters. If the bandwidth is then larger than the slack allows, the step is rolled back. The
slack falls to zero, as in simulated annealing. The limits on delay, capacity and filters hold after
every step, so that a search can be stopped at any time. If there are many subscribers, the search
uses a sample of them.

Modules, in the order in which data passes through them:

- `plan_search`: `search`, the entry: chooses the start, the sample and the number of steps.
- `sampled_filters`: a search on a sample, then also on the subscribers that its filters miss.
- `search_rounds`: `SearchBudget`, and rounds of steps; after each round the best state is copied.

The steps themselves are in `covey.plan.kernels.lns` and `covey.plan.kernels.destroy_repair`.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.plan.local_search.sampled_filters import search_sampled_filters
    from covey.plan.local_search.search_rounds import SearchBudget, choose_step_count

__all__ = [
    "SearchBudget",
    "choose_step_count",
    "search_sampled_filters",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "SearchBudget": "search_rounds",
        "choose_step_count": "search_rounds",
        "search_sampled_filters": "sampled_filters",
    },
)
