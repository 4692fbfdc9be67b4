"""Overlay networks of brokers and CAN nodes: protocols without I/O, and a simulator.

A node is a handler: it receives a message and returns the messages that it sends. The simulator
runs these handlers. The same seed always gives the same run, message for message, even with lost
packets, duplicate packets and crashes. (papers: can, mics, projection)

Packages:

- `brokers`: a tree of brokers with one routing table for each link.
- `can`: a content-addressable network with PURE and SMART replication.

Modules, in the order in which a message passes through them:

- `simulator`: deliver messages between nodes, in simulated time.
- `faults`: the probabilities that a packet is lost or duplicated.
- `reliable_channel`: sequence numbers and acknowledgements, which restore lost packets and order.
- `random_run`: random joins, leaves, subscriptions, events and crashes on any network.
- `delivery_oracle`: the notifications that a run must deliver, and those that it may deliver.
"""

from covey.overlay.brokers.network import BrokerNetwork, cell_links, region_links
from covey.overlay.brokers.trial import BrokerTrial
from covey.overlay.can.network import CanNetwork
from covey.overlay.can.trial import CanTrial
from covey.overlay.delivery_oracle import TrialOutcome
from covey.overlay.faults import Faults
from covey.overlay.simulator import Node, Simulator

__all__ = [
    "BrokerNetwork",
    "BrokerTrial",
    "CanNetwork",
    "CanTrial",
    "Faults",
    "Node",
    "Simulator",
    "TrialOutcome",
    "cell_links",
    "region_links",
]  # fmt: skip
