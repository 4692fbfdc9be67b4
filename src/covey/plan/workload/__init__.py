"""Generated assignment problems of any size: the workloads of the paper.

Each function returns a `Problem` and takes a number of subscribers, a number of brokers, a degree
(None for brokers of one level) and a seed; the same arguments give the same problem. They serve
tests, benchmarks and examples: no planner depends on them. (papers: assignment)

Three workloads exist, one of them in four variants: topics in a tree of rectangles, interests at
a few positions, and hot spots of event space. `ASSIGNMENT_PROBLEMS` has all six by name.

Modules, in the order in which data passes through them:

- `networks`: positions in three regions of the world, and broker trees of one or two levels.
- `problems`: the workloads, and `ASSIGNMENT_PROBLEMS`.
"""
