"""Overlay networks of brokers and CAN nodes: protocols without I/O, and a simulator.

A node is a handler: a message in, messages out. The same handlers run under the simulator, where
one seed gives one run, message for message, with lost and repeated packets and crashes if wanted.
(papers: can, mics, projection)

Packages:

- `brokers`: a tree of brokers with one routing table for each link.
- `can`: a content-addressable network with PURE and SMART replication.

Modules, in the order in which a message passes through them:

- `simulator`: nodes by name, messages in flight, and simulated time.
- `faults`: the probabilities that a packet is lost or duplicated.
- `reliable_channel`: sequence numbers and acknowledgements, which restore order and losses.
- `random_run`: random joins, leaves, subscriptions, events and crashes on any network.
- `delivery_oracle`: which notifications a run had to deliver, and which it could.
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
