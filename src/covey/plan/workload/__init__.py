"""Generated assignment problems of any size: the workloads of the paper.

Each function returns a `Problem`. Its arguments are the number of subscribers, the number of
brokers, the degree (the largest number of children of a top-level broker; None for brokers of one
level) and a seed; the same arguments give the same problem. The problems serve tests, benchmarks
and examples: no planner depends on them. (papers: assignment)

There are three workloads: topics in a tree of rectangles, in four variants; interests at a few
positions; and hot spots of event space. `ASSIGNMENT_PROBLEMS` contains all six problems by name.

Modules, in the order in which data passes through them:

- `networks`: positions in three regions of the world, and broker trees of one or two levels.
- `problems`: the workloads, and `ASSIGNMENT_PROBLEMS`.
"""
