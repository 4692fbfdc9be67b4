"""Networks of brokers on Kafka.

A plan says which broker serves whom, and which filter each broker needs. This package runs such a
plan: one topic per broker, and a streaming query that forwards the events that its filter admits.

- `deploy`: run a broker plan on Kafka, one topic per broker.
"""
