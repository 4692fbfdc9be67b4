"""Networks of brokers on Kafka.

A plan assigns subscribers to brokers and gives each broker a filter. This package runs a plan: each
broker has a topic, and streaming queries forward to it the events that its filter admits.

- `deploy`: run a broker plan on Kafka, one topic per broker.
"""
