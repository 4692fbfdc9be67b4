"""Assign the rows of a DataFrame of subscribers to brokers; a table may have any number of rows.

`covey.plan` searches for filters with a sample of the subscribers. Spark then finds the leaf
brokers whose filters cover each row, assigns rows to leaves within their capacities, and verifies
the result. The memory of the driver does not grow with the number of rows.

In the order in which data passes through them:

    distributed_plan  `assign_subscribers` and `DistributedPlan`: the passes, on the driver
    tasks             functions of the workers in each pass

Tasks, in the order of the passes:

    FindUncoveredTask  rows that no leaf within the delay limit covers; the search adds them
    LeafSetTask        for each row the number of its leaf set: leaves that can serve it
    AssignBrokerTask   for each row its broker, from its leaf set and its rank in the leaf set
    VerifyTask         numbers of rows with too long a delay, and of rows outside their filter
"""
