"""SLP: filters from linear programs on weighted samples, the method of the paper.

In each round a linear program chooses fractions of candidate rectangles for a sample, randomized
rounding turns them into filters, and subscribers that these miss get twice the weight in the next
sample. A maximum flow then assigns all subscribers, and filters are fitted to the subscribers of
each leaf. `search` finds better plans in less time; SLP is for comparison. (papers: assignment)

Modules, in the order in which data passes through them:

- `multi_level`: `slp`, the entry; trees of several levels are solved from the top, by broker.
- `one_level`: `SlpResult`, and all steps for brokers below the publisher (SLP1).
- `sampling_rounds`: the rounds of weighted samples, and randomized rounding.
- `candidates`: candidate rectangles from clusters and intervals.
- `relaxation`: the linear program of one sample and its fractional solution.
- `solver`: HiGHS, and a bound from dual prices; `covey.plan.bounds` uses it, too.
- `filter_adjustment`: filters shrunk to assigned subscribers, of few enough rectangles.
"""
