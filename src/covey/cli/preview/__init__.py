"""`covey preview`: how often a predicate would have matched, before it is saved.

Spark itself evaluates the predicate, in one pass over the events; covey reports whether the
predicate can match at all. If events have a time, the matches are counted by day, month or year. A
few of the matching events are printed too.

The modules, in the order in which data passes through them, are:

    command         the options, the steps, and the printed summary
    match_history   `MatchHistory`: events and matches, by period
    sample_rows     matching events as a table that fits the terminal
"""
