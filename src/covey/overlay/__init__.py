"""Networks of brokers and CANs as message protocols without I/O, and a simulator that runs them.

`covey.overlay.brokers` is a tree of brokers, `covey.overlay.can` a CAN with PURE and SMART
replication. Both are handlers: a message in, messages out. (papers: can, mics, projection)
"""

from covey.overlay.brokers.network import BrokerNetwork, by_cells, by_regions
from covey.overlay.brokers.trial import BrokerTrial
from covey.overlay.can.network import CanNetwork
from covey.overlay.can.trial import CanTrial
from covey.overlay.faults import Faults
from covey.overlay.outcome import Outcome
from covey.overlay.simulator import Node, Simulator

__all__ = [
    "BrokerNetwork", "BrokerTrial", "CanNetwork", "CanTrial", "Faults", "Node", "Outcome",
    "Simulator", "by_cells", "by_regions",
]  # fmt: skip
