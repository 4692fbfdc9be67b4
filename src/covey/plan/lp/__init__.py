"""SLP: filters from linear programs on weighted samples, the method of the paper.

In each round, a linear program chooses fractions of candidate rectangles for a sample of
subscribers. Randomized rounding turns the fractions into filters. Subscribers that these filters
miss get twice the weight for the next sample. After the rounds, a maximum flow assigns all
subscribers, and filters are fitted to the subscribers of each leaf. `search` finds better plans in
less time; SLP is for comparison. (papers: assignment)

Modules, in the order in which data passes through them:

- `multi_level`: `slp`, the entry; trees of several levels are solved from the top down.
- `one_level`: `SlpResult`, and all steps for brokers of one level (SLP1).
- `sampling_rounds`: the rounds of weighted samples, and randomized rounding.
- `candidates`: candidate rectangles from clusters and intervals.
- `relaxation`: the linear program of one sample and its fractional solution.
- `solver`: HiGHS, and a bound from dual prices; `covey.plan.bounds` uses it, too.
- `filter_adjustment`: filters of at most `max_rectangles` rectangles, shrunk to the subscribers
  that are assigned.
"""
