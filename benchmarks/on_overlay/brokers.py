"""Broker trees: advertised and stored regions and false forwards, by routing strategy.

100,000 subscriptions arrive at the brokers of a binary tree in ten portions. Each portion arrives
at all brokers at once, and updates that wait for a link are joined into one message. Then each
event is published at a random broker. The figure `advertised` is the number of regions, or ranges
of cells, that were advertised or withdrawn on all links, divided by the number with flooding, which
advertises every subscription on every link. `stored` is the mean number of regions or ranges that a
broker stores of its neighbours, relative to the number of subscriptions. `false forwards` is the
number of unnecessary forwards of events over the number of necessary ones. All deliveries are
compared with an index of all subscriptions.
"""

from __future__ import annotations

import gc
import sys
import time
from typing import Any

import numpy as np

from benchmarks.harness import Value, progress
from covey.geometry import Regions
from covey.index import SegmentIndex
from covey.index.hilbert.grid import HilbertGrid, find_selective_attributes
from covey.overlay import BrokerNetwork, cell_links, region_links
from covey.overlay.brokers.broker import MakeLink
from covey.overlay.brokers.messages import ForwardEvents, RoutingUpdateMessage
from covey.overlay.simulator import NodeName
from covey.routing.strategies import STRATEGIES
from covey.space import Events
from covey.workload import ZipfBoxes

__all__ = ["KEYS", "run"]

_SIZES, _COUNT, _PORTIONS, _EVENTS = (127, 1_023), 100_000, 10, 1_000
_WORKLOAD = ZipfBoxes(dimensions=2, cells_per_side=8)
_FIGURES = ("advertised", "stored", "false forwards")

KEYS = {
    **{
        f"brokers_{size}_{name}": f"{size} brokers, {name}: {', '.join(_FIGURES)}, seconds"
        for size in _SIZES
        for name in STRATEGIES
    },
    "brokers_wrong": "lost, spurious and repeated notifications of all networks: should be 0",
    "brokers_notifications": "notifications of all networks",
}


def run(setting: object, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of all networks, which run one after another."""
    regions = _WORKLOAD.generate_regions(0, _COUNT)
    events = Events.from_arrow(_WORKLOAD.generate_events(0, _EVENTS), _WORKLOAD.space)
    pairs = SegmentIndex.build(regions).match(events)
    expected = set(zip(pairs.query_rows.tolist(), pairs.stored_rows.tolist(), strict=True))
    results: dict[str, Value] = {}
    wrong = notifications = 0
    networks = [(size, name) for size in _SIZES for name in STRATEGIES]
    for done, (size, name) in enumerate(networks):
        progress(done, len(networks), "networks")
        figures, delivered = _Run(size, _links(name, regions), regions, events, expected).found
        wrong += len(expected ^ set(delivered)) + len(delivered) - len(expected)
        notifications += len(delivered)
        results[f"brokers_{size}_{name}"] = figures
        print(f"brokers_{size}_{name}: {figures}", file=sys.stderr)
        gc.collect()  # two networks of a thousand brokers do not fit into memory
    progress(len(networks), len(networks), "networks")
    return results | {"brokers_wrong": wrong, "brokers_notifications": notifications}


def _links(name: str, regions: Regions) -> MakeLink:
    if name == "hilbert":
        return cell_links(
            HilbertGrid.from_regions(regions, find_selective_attributes(regions, 2), 8)
        )
    return region_links(regions.space, name)


class _Run:
    """The run of one network: all subscriptions are added, then all events are published."""

    def __init__(
        self, size: int, links: MakeLink, regions: Regions, events: Events, wanted: set[Any]
    ) -> None:
        self.told = self.forwards = 0
        self.network = BrokerNetwork.build_tree(size, regions.space, links, coalesce=True)
        self.network.simulator.on_send = self._sent
        self.at = np.random.default_rng(size).integers(0, size, len(regions))
        start = time.perf_counter()
        self._subscribe(regions)
        seconds = time.perf_counter() - start
        mean_entries = np.mean(
            [
                sum(link.entry_count for link in b.links.values())
                for b in self.network.brokers.values()
            ]
        )
        publishers = np.random.default_rng(size + 1).integers(0, size, len(events))
        self._publish(events, publishers)
        needed = _needed(self.at, publishers, wanted)
        told_share = self.told / (len(regions) * (size - 1))
        kept_share = mean_entries / len(regions)
        vain = (self.forwards - needed) / max(1, needed)
        figures = f"{told_share:.4f}, {kept_share:.4f}, {vain:.4f}, {seconds:.0f} s"
        self.found: tuple[str, list[Any]] = figures, self.network.deliveries

    def _subscribe(self, regions: Regions) -> None:
        for portion in range(_PORTIONS):
            for broker in self.network.brokers:
                rows = np.flatnonzero(self.at == broker)[portion::_PORTIONS]
                if len(rows):
                    self.network.subscribe(
                        broker, rows.tolist(), regions.take(rows), np.arange(len(rows))
                    )
            self.network.simulator.run()

    def _publish(self, events: Events, publishers: Any) -> None:
        for broker in np.unique(publishers).tolist():
            rows = np.flatnonzero(publishers == broker)
            self.network.publish(broker, rows, events.take(rows))
        self.network.simulator.run()

    def _sent(self, sender: NodeName, to: NodeName, message: Any) -> None:
        if isinstance(message, RoutingUpdateMessage):
            self.told += len(message.update.advertised) + len(message.update.withdrawn)
        elif isinstance(message, ForwardEvents):
            self.forwards += len(message.events)


def _needed(at: Any, publishers: Any, wanted: set[Any]) -> int:
    """Return the number of necessary forwards of all events.

    An event must pass the links of the smallest subtree that contains its publisher and the brokers
    of all subscriptions that match it.

    Args:
        at: the broker of each subscription.
        publishers: the broker at which each event is published.
        wanted: pairs of an event and a subscription that match.
    """
    needed = 0
    brokers: dict[int, set[int]] = {}
    for event, row in wanted:
        brokers.setdefault(event, set()).add(int(at[row]))
    for event, ends in brokers.items():
        links = set()
        for end in ends:
            links |= _path(int(publishers[event]), end)
        needed += len(links)
    return needed


def _path(one: int, other: int) -> set[int]:
    """Return the links between two brokers of a binary tree, each by its end farther from the root.

    The brokers are numbered such that broker n has the parent (n - 1) // 2.
    """
    links: set[int] = set()
    while one != other:
        lower = max(one, other)
        links ^= {lower}
        parent = (lower - 1) // 2
        one, other = (one, parent) if lower == other else (parent, other)
    return links
