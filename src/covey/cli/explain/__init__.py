"""`covey explain`: why an event matched a subscription, or did not, condition by condition.

The subscription is in a table, a saved model or a stream. Tables and models are read without Spark.
Spark is started only for times, derived attributes, events in Delta or on other machines, and the
events of a stream, because covey cannot read or compute these itself.

The modules, in the order in which data passes through them, are:

    command          the options, and the kind of source that a path has
    table_rows       read one event and one subscription from tables in files, with Arrow
    row_explanation  explain a predicate on that event, with Spark if it is needed
"""
