"""Match events in Spark's workers, and write the matches as rows.

A `transform` is one `mapInArrow`. A worker opens a version of the store once and maps its files
into memory, which it shares with the other workers of the machine. Batches are joined until
matching them pays, and split where an answer would be too large, so that memory does not grow with
the number of events or of matches.

In the order in which data passes through them:

    worker_cache       snapshots that are open in this worker process
    match_task         `MatchTask`: rebatch events, match them within bounds of memory
    output             `PairRows` and `ArrayRows`: a row for each match, or for each event
    evaluation_errors  pairs that stay undecided because an expression raises on the event
    table_function     a model as a table function of SQL

`covey.stream` matches micro-batches with the same functions: `rebatch`, `to_events` and
`match_bounded`.
"""
