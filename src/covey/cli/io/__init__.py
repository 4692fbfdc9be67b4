"""Tables in files that commands read and write through Spark.

A table is Parquet, CSV, JSON lines or Delta; the options of a command name its path and, if
necessary, its format. All checks that need no Spark run when a source or target is constructed, so
that a wrong path ends a command before Spark starts. Nothing is overwritten without `--overwrite`.

The modules, in the order in which data passes through them, are:

    formats   the format of a table, by its path or content, and the path in the form for Spark
    sources   `TableSource`: read a table into a DataFrame
    columns   read the header of a local file before Spark starts, check and cast columns
    targets   `TableTarget`: write a DataFrame to a new folder, or replace an old one
"""
