"""Tables in files that commands read and write through Spark.

A path and an optional `--…-format` name a table: Parquet, CSV, JSON lines or Delta. All checks that
need no Spark run when a source or target is constructed, so that a wrong path ends a command before
Spark starts. Nothing is overwritten unless the user says so.

In the order in which data passes through them:

    formats   the format of a path, by its suffix or content, and the path as Spark takes it
    sources   `TableSource`: read a table into a DataFrame, check and cast its columns
    targets   `TableTarget`: write a DataFrame to a new folder, or replace an old one
"""
