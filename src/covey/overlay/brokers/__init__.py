"""A tree of brokers that forward events along links; covering is decided link by link.

A subscription is advertised on every link except the one that it came from, unless the routing
table of the link finds it redundant. An event is forwarded on a link if the neighbour advertised a
region that contains it. Clients are notified of exactly the events that their subscriptions match.
With announcements, a subscription is advertised only on links behind which a publisher announced
events that it may match.

Modules, in the order in which data passes through them:

- `network`: a simulated tree of brokers, with clients and a record of all deliveries.
- `messages`: messages from clients to brokers, and between brokers.
- `broker`: the handler of one broker.
- `dynamic_index`: regions by key that can be added and removed, with an index built on demand.
- `link`: one link, on which regions or cells are advertised: interests of the neighbour, and the
  routing table of the link.
- `paper_rules`: a broker with one routing table for all links, as in the paper; it loses events.
- `trial`: random runs of a network, compared with brute force.
"""
