"""Compiled loops that place subscriptions in a CAN without sending messages.

They compute the state that the message protocol reaches if subscriptions arrive one after another
and none is cancelled. Zones and boxes are given as lower and upper corners, one row each.

`benchmarks.on_overlay.static_placement` calls them for networks that are too large to be simulated
message by message; the tests compare both on small networks.

Modules:

- `placement_loops`: places subscriptions one after another as roots or dependants with their
  replicas, and counts the nodes that each event visits.
"""
