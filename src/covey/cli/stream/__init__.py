"""`covey stream` and `covey status`: run a stream on Kafka, and watch it.

Both take the TOML file of the stream, which `covey.stream.config` reads. `covey stream` runs the
pipeline until it is stopped. With `--from` and `--dry-run` it replays a range of offsets, and sends
no notifications. `covey status` reads the status file that the stream writes.

The modules, in the order in which data passes through them, are:

    commands    `stream`: options, checks before Spark starts, running and stopping
    connectors  find Spark's Kafka connector: as a package to download, or as jar files
    replay      match a past range of offsets again; count or write what would be sent
    status      `status`: batches, delays and totals of a running stream, live in the terminal
"""
