"""`covey plan`: compare, make and deploy assignments of subscribers to brokers.

`covey plan compare` runs all planners on one problem and compares them with a lower bound.
`covey plan make` writes a plan to a folder if it satisfies all limits. `covey plan deploy` forwards
events on Kafka to one topic for each broker, by the filters of a saved plan.

The modules, in the order in which data passes through them, are:

    commands        the options of `compare` and `make`, and the comparison as a table
    problem_files   read subscribers, brokers and events from Parquet or CSV into a `Problem`
    plot            draw the network, and bandwidth, delay and load of each plan, as a PNG
    deploy          `deploy`: run the Kafka queries of a plan, and print what each broker received
"""
