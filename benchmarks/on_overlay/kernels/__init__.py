"""Compiled loops that place subscriptions in a CAN without sending messages.

They compute what the message protocol comes to when subscriptions arrive one after another and none
is cancelled. Zones and boxes are given as lower and upper corners, one row each.

`benchmarks.on_overlay.static_placement` calls them for networks that are too large to be simulated
message by message; the tests compare both on small networks.

Modules:

- `placement_loops`: places subscriptions one after another, with the roots, homes and replicas
  that this gives, and counts the nodes that each event visits.
"""
