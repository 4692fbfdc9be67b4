"""`covey preview`: how often a predicate would have matched, before it is saved.

Spark's own `where` decides, in one pass over the events; covey says whether the predicate can match
at all. The number of matches is shown by day, month or year if events have a time, with a few of
the matching events below.

In the order in which data passes through them:

    command         the options, the steps, and the printed summary
    match_history   `MatchHistory`: events and matches, by period
    sample_rows     matching events as a table that fits the terminal
"""
