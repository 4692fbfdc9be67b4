"""Random runs of a broker network, compared with brute force."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.geometry.relations import contains
from covey.index.hilbert import HilbertGrid
from covey.language import parse
from covey.overlay.brokers.broker import Broker, MakeLink
from covey.overlay.brokers.network import BrokerNetwork, cell_links, region_links
from covey.overlay.brokers.paper_rules import PaperBroker
from covey.overlay.delivery_oracle import DeliveryOracle, TrialOutcome
from covey.overlay.random_run import TRIAL_FAULTS, run_random_trial
from covey.overlay.simulator import NodeName
from covey.space import Events, Space

__all__ = ["BrokerTrial"]

_SPACE = Space.from_types({"x": pa.int32(), "y": pa.int32()})
_GRID = HilbertGrid.uniform(_SPACE, ["x", "y"], 3, {"x": (0, 31), "y": (0, 31)})
_MAX_BROKERS, _MAX_COORDINATE = 12, 31
_WEIGHTS = (12, 4, 30, 18, 30, 6)


@dataclass(frozen=True, slots=True)
class BrokerTrial:
    """One random run of a broker network. Equal trials make the same run, message for message.

    Args:
        seed: seed of all random choices. With an odd seed and without faults, routing updates in
            flight are joined.
        strategy: a routing strategy of `covey.routing`; with "hilbert", cells are advertised.
        requires_announcements: whether publishers announce regions before they publish.
        uses_paper_rules: whether brokers are of the class `PaperBroker`; no broker leaves then.
        with_faults: whether packets are lost and duplicated, and brokers crash.
        steps: number of random actions.

    >>> BrokerTrial(seed=1).run().is_correct
    True
    """

    seed: int
    strategy: str = "exact"
    requires_announcements: bool = False
    uses_paper_rules: bool = False
    with_faults: bool = False
    steps: int = 120

    def run(self) -> TrialOutcome:
        """Carry out the run, and return the differences from brute force, as counts.

        Raises:
            InvalidArgumentError: the options cannot be combined.
        """
        if self.requires_announcements and self.strategy == "hilbert":
            raise InvalidArgumentError(
                "announcements need a strategy that advertises regions, but 'hilbert' advertises "
                "cells: use another strategy"
            )
        if self.uses_paper_rules and (self.requires_announcements or self.strategy != "exact"):
            raise InvalidArgumentError(
                "the rules of the paper (uses_paper_rules) need the strategy 'exact' and no "
                f"announcements, got {self.strategy!r} "
                f"{'with' if self.requires_announcements else 'without'} announcements"
            )
        return _BrokerRun(self).run()


class _BrokerRun:
    """The network, the oracle and the random actions of one trial."""

    def __init__(self, trial: BrokerTrial) -> None:
        self.random, self.trial = random.Random(trial.seed), trial
        self.network = BrokerNetwork(
            _SPACE,
            self._choose_links(),
            requires_announcements=trial.requires_announcements,
            seed=trial.seed,
            faults=TRIAL_FAULTS if trial.with_faults else None,
            coalesce=trial.seed % 2 == 1 and not trial.with_faults,
            broker_class=PaperBroker if trial.uses_paper_rules else Broker,
        )
        self.brokers = [self.network.join()]
        self.oracle = DeliveryOracle(self._find_matches)
        self.broker_by_subscription: dict[int, NodeName] = {}
        self.regions_by_subscription: dict[int, Regions] = {}
        self.published_events: list[Events] = []
        self.last_announcements: dict[NodeName, tuple[NodeName, int]] = {}

    def _choose_links(self) -> MakeLink:
        """Return a function that makes links for the strategy of the trial."""
        if self.trial.strategy == "hilbert":
            return cell_links(_GRID, gap=self.random.randrange(4))
        return region_links(_SPACE, self.trial.strategy)

    def run(self) -> TrialOutcome:
        """Carry out the run, and return the comparison with brute force."""
        return run_random_trial(
            self, _WEIGHTS, self.trial.steps, with_faults=self.trial.with_faults
        )

    def join(self) -> None:
        """Add a broker with a link to a random one, unless there are `_MAX_BROKERS`."""
        if len(self.brokers) < _MAX_BROKERS:
            self.brokers.append(self.network.join(self.pick_member()))

    def leave(self) -> None:
        """Remove a random broker with its clients; events in flight may be lost.

        Do nothing if there are only two brokers, or if the trial uses the rules of the paper.
        """
        if len(self.brokers) > 2 and not self.trial.uses_paper_rules:
            name = self.pick_member()
            self.brokers.remove(name)
            broker_of = self.broker_by_subscription
            ids = [i for i in self.oracle.live_subscriptions if broker_of[i] == name]  # type: ignore[index]
            for id_ in ids:
                self.oracle.cancel(id_)
            self.oracle.waive_in_flight()
            self.oracle.clear_settled()
            self.last_announcements.pop(name, None)
            self.network.leave(name)

    def subscribe(self) -> None:
        """Add one to three subscriptions at a random broker."""
        ids = [len(self.broker_by_subscription) + row for row in range(self.random.randint(1, 3))]
        name = self.pick_member()
        parsed = parse(_SPACE, [self._draw_predicate() for _ in ids])
        for row, id_ in enumerate(ids):
            self.broker_by_subscription[id_] = name
            self.regions_by_subscription[id_] = parsed.regions.take(
                np.flatnonzero(parsed.predicate_rows == row)
            )
            self.oracle.subscribe(id_)
        self.network.subscribe(name, ids, parsed.regions, parsed.predicate_rows)

    def _draw_predicate(self) -> str:
        """Return a predicate whose regions are one or two random boxes."""
        return " OR ".join(
            f"x BETWEEN {x} AND {x + w} AND y BETWEEN {y} AND {y + h}"
            for x, y, w, h in (
                (
                    *self._draw_point(),
                    self.random.choice((0, 2, 8, 16)),
                    self.random.choice((1, 4, 9)),
                )
                for _ in range(self.random.choice((1, 1, 1, 2)))
            )
        )

    def _draw_point(self) -> tuple[int, int]:
        """Return random coordinates."""
        return self.random.randint(0, _MAX_COORDINATE), self.random.randint(0, _MAX_COORDINATE)

    def cancel(self) -> None:
        """Cancel a random live subscription, if there is one."""
        if live := self.oracle.live_subscriptions:
            id_ = self.random.choice(live)
            self.oracle.cancel(id_)
            self.network.unsubscribe(self.broker_by_subscription[id_], [id_])  # type: ignore[index]

    def publish(self) -> None:
        """Publish a random event at a random broker, after an announcement if required."""
        name = self.pick_member()
        x, y = self._draw_point()
        if self.trial.requires_announcements:
            self._announce(name, x, y)
        event = Events.from_arrow(pa.table({"x": [x], "y": [y]}), _SPACE)
        number = len(self.published_events)
        self.published_events.append(event)
        self.oracle.publish(number)
        self.network.publish(name, np.array([number]), event)

    def _announce(self, name: NodeName, x: int, y: int) -> None:
        """Announce a region around a point, and withdraw the broker's last announcement.

        Return after all messages have arrived.
        """
        last_announcement = self.last_announcements.get(name)
        text = f"x BETWEEN {x - 4} AND {x + 4} AND y >= {y - 4}"
        regions = parse(_SPACE, [text]).regions
        number = len(self.published_events)
        self.network.announce(
            name,
            [(name, number)],
            regions,
            withdrawn_ids=[] if last_announcement is None else [last_announcement],
        )
        self.last_announcements[name] = (name, number)
        self.drain()

    def pick_member(self) -> NodeName:
        """Return a random broker."""
        return self.random.choice(self.brokers)

    def drain(self) -> None:
        """Run until all messages have arrived; then all live subscriptions are settled."""
        self.network.simulator.run()
        self.oracle.clear_in_flight()
        self.oracle.mark_settled(self.oracle.live_subscriptions)

    def _find_matches(self, event: int, ids: Iterable[Hashable]) -> set[Hashable]:
        """Return which of the given subscriptions match an event, by comparing every region."""
        published_event = self.published_events[event]
        return {
            id_
            for id_ in ids
            if contains(
                self.regions_by_subscription[id_],  # type: ignore[index]
                np.arange(len(self.regions_by_subscription[id_])),  # type: ignore[index]
                published_event,
                np.zeros(len(self.regions_by_subscription[id_]), np.int64),  # type: ignore[index]
            ).any()
        }
