"""Large neighbourhood search: improve a plan by destroy and repair steps.

A step takes rectangles from a few related brokers, unassigns the subscribers that these covered
(destroy), assigns them again greedily in a random order (repair), fits the changed filters, and is
rolled back if the bandwidth became worse than the slack allows. The slack falls to zero, as in
simulated annealing. Delay, capacity and filters hold after every step, so a search can be stopped
at any time. Of many subscribers only a sample is searched on.

Modules, in the order in which data passes through them:

- `plan_search`: `search`, the entry: chooses the start, the sample and the number of steps.
- `sampled_filters`: filters from a sample, then with those added whom these filters miss.
- `search_rounds`: `SearchBudget`, and rounds of steps between which the best state is copied.

The steps themselves are in `covey.plan.kernels.lns` and `covey.plan.kernels.destroy_repair`.
"""
