"""`covey reduce`: find redundant subscriptions, and build few filters that cover all.

A subscription is redundant if others cover all its events. Filters are few regions that admit every
event that any subscription matches, and at most a given share of others. The output folder is
written completely or not at all; an earlier one is replaced only when the new one is complete.

In the order in which data passes through them:

    command         the options, and the checks that need no Spark
    job             `ReduceJob`: read, reduce, write, count and draw
    output_folder   `OutputFolder`: where results go; `DraftFolder` while they are written
    report          `ReductionReport`: what each step removed, by owner and by attribute
    summary         print the report for people
    plot            draw the report as a PNG
"""
