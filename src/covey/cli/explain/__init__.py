"""`covey explain`: why an event matched a subscription, or did not, condition by condition.

The subscription comes from a table, a saved model or a running stream. Tables and models are read
without Spark; Spark is started only for what it alone can compute: times, derived attributes,
Delta, and the events of a stream.

In the order in which data passes through them:

    command          the options, and the kind of source that a path has
    table_rows       one event and one subscription of tables in files, read by Arrow
    row_explanation  explain a predicate on that event, with Spark if it is needed
"""
