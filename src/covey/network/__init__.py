"""Networks of brokers on Kafka.

A plan assigns subscribers to brokers and gives each broker a filter. This package runs a plan: each
broker has a topic, to which streaming queries forward the events that the broker's filter admits.

- `deploy`: runs a plan on Kafka, with one topic per broker.
"""
