"""Assign the rows of a DataFrame of subscribers to brokers; there may be any number of rows.

`covey.plan` searches for filters with a sample of the subscribers. Spark then finds the leaf
brokers whose filters cover each row, assigns rows to leaves within their capacities, and verifies
the result. The driver reads only samples, the rows that no filter of the sample covers, and the
rows for which no leaf has capacity left.

Modules, in the order in which data passes through them:

    distributed_plan  `assign_subscribers` and `DistributedPlan`: the passes, on the driver
    tasks             functions of the workers in each pass

Tasks, in the order of the passes:

    FindUncoveredTask  rows that no leaf within the delay limit covers; filters are widened for them
    LeafSetTask        for each row the number of its leaf set: leaves that can serve it
    AssignBrokerTask   for each row its broker, from its leaf set and its rank in the leaf set
    VerifyTask         numbers of rows with too long a delay, or outside the filter of their broker
"""
