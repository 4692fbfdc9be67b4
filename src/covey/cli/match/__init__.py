"""`covey match`: match every event of a table with every subscription of another.

Matches are counted by Spark's `observe` while they are written, so that nothing is matched twice;
counts by subscription come from the written rows.

In the order in which data passes through them:

    command        the options, and the checks that need no Spark
    job            `MatchJob`: read, fit, match, write and count
    size_estimate  expected number of matches, and confirmation of very large results
    report         `MatchReport`: matches per event and per subscription, and the rejected ones
    summary        print the report for people
"""
