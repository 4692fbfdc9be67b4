"""A content-addressable network (CAN): nodes own zones of a cube into which events are projected.

The balls of subscriptions and the points of events are projected into the unit cube, which usually
has fewer dimensions than events have. In the cube, a ball becomes a box and an event becomes a
point. With PURE, a subscription has a replica in every zone that its box meets. With SMART, only
roots have replicas; a subscription whose box lies within the box of a root is stored at the root's
seat. (papers: can)

Modules, in the order in which data passes through them:

- `projection`: projection of balls to boxes, and of events to points, of the cube.
- `network`: a simulated CAN, with clients and a record of all deliveries.
- `messages`: messages from clients to nodes, and between nodes.
- `zones`: boxes that divide the cube; each has one owner.
- `node`: the handler of one node: routing, joins, leaves, events.
- `neighbours`: the zones that other nodes claim, and which nodes are neighbours.
- `floods`: a message to all zones that a box meets, and the replies that confirm it.
- `seats`: the state of each subscription, as a root or a dependant, and how it changes.
- `replicas`: the replicas of roots at one node.
- `paper_rules`: the rules of SMART as the paper describes them; they lose events.
- `trial`: random runs of a CAN, compared with brute force.
"""
