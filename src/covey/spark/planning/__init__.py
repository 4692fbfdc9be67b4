"""Assign the rows of a DataFrame of subscribers to brokers, as many as Spark can read.

`covey.plan` searches filters on a sample of the subscribers. Spark then finds which leaf brokers
cover each row, assigns rows to leaves within their capacities, and verifies the result. What the
driver holds does not grow with the number of rows.

In the order in which data passes through them:

    distributed_plan  `assign_subscribers` and `DistributedPlan`: the passes, on the driver
    tasks             what workers do in each pass

Tasks, in the order of the passes:

    FindUncoveredTask  rows that no filter of a near leaf covers; the search continues with them
    LeafSetTask        for each row the number of the set of leaves that cover it
    AssignBrokerTask   the broker of each row, from its leaf set and its rank in it
    VerifyTask         count rows that are too far from their broker or not covered by its filter
"""
