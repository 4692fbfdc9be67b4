"""A tree of brokers that forward events along links, with covering decided link by link.

Subscriptions are advertised on every link but the one that they came from, as far as the routing
table of the link does not hold them back. Events are forwarded to links whose neighbour wants them,
and clients are told exactly of what they subscribed to. With announcements, subscriptions are
advertised only on links behind which a publisher announced events that they may match.

Modules, in the order in which data passes through them:

- `network`: a simulated tree of brokers, its clients, and all deliveries.
- `messages`: what clients tell brokers, and what brokers tell each other.
- `broker`: the handler of one broker.
- `dynamic_index`: regions by id that come and go, with an index that is built on demand.
- `link`: one link: what the neighbour wants, and what it was told; by regions or by cells.
- `paper_rules`: a broker with one table for all links, as published; it loses events.
- `trial`: random runs of a network, compared with brute force.
"""
