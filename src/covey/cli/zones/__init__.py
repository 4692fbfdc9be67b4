"""`covey zones`: the bounds, the load and the memory of the zones of a saved model.

The model is read without Spark. Spark starts only if events are given, to measure the load that
these events cause; otherwise the load is that of the events of the fit.

The modules, in the order in which data passes through them, are:

    command   the options, and the printed tables
    report    `ZoneReport`: load, subscriptions and bytes of each zone of a saved model
    plot      draw the zones by two attributes, with their load and memory, as a PNG
"""
