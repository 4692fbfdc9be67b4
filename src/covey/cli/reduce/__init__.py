"""`covey reduce`: find redundant subscriptions, and build a small number of filters that cover all.

A subscription is redundant if no event can match it, or if the remaining subscriptions match all
its events; of equal subscriptions, one remains. Filters are regions that together admit every event
that any subscription matches, and at most a given share of other events. The output folder is
written completely or not at all; an earlier one is replaced only when the new one is complete.

The modules, in the order in which data passes through them, are:

    command         the options, and the checks that need no Spark
    job             `ReduceJob`: read, reduce, write, count and draw
    output_folder   `OutputFolder`, which is opened as a `DraftFolder` to write the results
    report          `ReductionReport`: what each step removed, by owner and by attribute
    summary         print the report for people
    plot            draw the report as a PNG
"""
