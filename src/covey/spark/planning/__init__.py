"""Assign the rows of a DataFrame of subscribers to brokers; a table may have any number of rows.

`covey.plan` searches filters on a sample of the subscribers. Spark then finds the leaf brokers that
cover each row, assigns rows to leaves within their capacities, and verifies the result. The memory
of the driver does not grow with the number of rows.

In the order in which data passes through them:

    distributed_plan  `assign_subscribers` and `DistributedPlan`: the passes, on the driver
    tasks             functions of the workers in each pass

Tasks, in the order of the passes:

    FindUncoveredTask  rows that no leaf within the delay limit covers, added to the search
    LeafSetTask        for each row the number of the set of leaves that cover it
    AssignBrokerTask   the broker of each row, from its leaf set and its rank in it
    VerifyTask         number of rows with too much delay, and of rows that their filter misses
"""
