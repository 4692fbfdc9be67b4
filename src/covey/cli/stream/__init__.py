"""`covey stream`, `covey status` and `covey explain`: the commands around a running stream.

All of them take the TOML file of the stream, which `covey.stream.config` reads. `covey stream` runs
the pipeline until it is stopped. With `--from` and `--dry-run` it replays a range of offsets and
notifies nobody. `covey status` reads what the stream last wrote about itself. `covey explain` says
why one event did or did not notify one subscription.

In the order in which data passes through them:

    commands   `stream` and `explain`: options, the Spark session with Kafka, running and stopping
    replay     match a range of offsets again; count or write what would be sent
    status     `status`: batches, delays and totals of a running stream, live in the terminal
"""
