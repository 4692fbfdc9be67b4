"""`covey match`: match every event of a table with every subscription of another.

Matches are counted by Spark's `observe` while they are written, so that nothing is matched twice;
counts by subscription are computed from the written rows.

The modules, in the order in which data passes through them, are:

    command        the options, and the checks that need no Spark
    job            `MatchJob`: read, fit, match, write and count
    size_estimate  estimate the number of matches, and ask before a very large result is written
    report         `MatchReport`: matches per event and per subscription, and the rejected ones
    summary        print the report for people
"""
