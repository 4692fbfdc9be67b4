"""What a node believes of who owns what around it.

Claims have versions, and newer ones win. A belief may be old, but there is one for all that touches
the node's own zones: who gives a zone away tells all neighbours in one message what both have then,
and goes on to forward what comes for it. So what is sent by an old belief arrives, by a detour.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from covey.overlay.can.messages import ZoneClaim, ZoneClaims
from covey.overlay.can.zones import CanZone
from covey.overlay.simulator import NodeName

__all__ = ["NeighbourView", "touches_any"]


@dataclass(slots=True)
class NeighbourView:
    """The newest claims that were heard of, and which of them are neighbours'."""

    known_claims: dict[NodeName, ZoneClaim] = field(default_factory=dict)
    neighbour_claims: dict[NodeName, ZoneClaim] = field(default_factory=dict)

    def receive_claims(
        self, claims: ZoneClaims, own_zones: Iterable[CanZone]
    ) -> tuple[bool, list[NodeName]]:
        """Believes what is newer; whether anything was, and the neighbours that are new."""
        own_zones, before = list(own_zones), set(self.neighbour_claims)
        news = {
            name: claim
            for name, claim in claims.claims.items()
            if name not in self.known_claims or self.known_claims[name].epoch < claim.epoch
        }
        for name, claim in news.items():
            self._accept_claim(name, claim, own_zones)
        for name in claims.departed_nodes:
            self._remove_departed(name, claims)
        return bool(news), [name for name in news if name in self.neighbour_claims.keys() - before]

    def merge_claims(self, other_claims: dict[NodeName, ZoneClaim]) -> None:
        """Believes what another node does, as far as it is newer."""
        for name, claim in other_claims.items():
            if name not in self.known_claims or self.known_claims[name].epoch < claim.epoch:
                self.known_claims[name] = claim

    def recompute_neighbours(self, own_zones: Iterable[CanZone]) -> None:
        """Finds the neighbours of other zones than before."""
        own_zones = list(own_zones)
        self.neighbour_claims = {
            name: claim
            for name, claim in self.known_claims.items()
            if touches_any(own_zones, claim.zones)
        }

    def _accept_claim(self, name: NodeName, claim: ZoneClaim, own_zones: list[CanZone]) -> None:
        self.known_claims[name] = claim
        if touches_any(own_zones, claim.zones):
            self.neighbour_claims[name] = claim
        else:
            self.neighbour_claims.pop(name, None)

    def _remove_departed(self, name: NodeName, claims: ZoneClaims) -> None:
        """One that left, if all that it is believed to have is with those who say so.

        Otherwise the belief stays: who left forwards.
        """
        theirs = [zone for claim in claims.claims.values() for zone in claim.zones]
        if name in self.known_claims and all(
            any(zone.is_within(other) for other in theirs) for zone in self.known_claims[name].zones
        ):
            self.neighbour_claims.pop(name, None)
            self.known_claims[name] = ZoneClaim(self.known_claims[name].epoch, ())


def touches_any(zones: Iterable[CanZone], other_zones: Iterable[CanZone]) -> bool:
    """Whether one of some zones has a face in common with one of others."""
    other_zones = list(other_zones)
    return any(one.touches(other) for one in zones for other in other_zones)
