"""A node's view of the zones around its own zones, as claims of other nodes.

A claim has an epoch, and a newer claim of a node replaces an older one. A claim may be outdated,
but all claims together always cover the surroundings of the node's own zones: a node that splits
its zone sends the claims of both owners to all neighbours in one message, and the successor of a
leaving node sends its own claim together with the name of that node. If an outdated claim causes a
message to be sent to an earlier owner of a zone, that node forwards it to the new owner.
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
    """The newest known claim of each node, and the claims of nodes that are neighbours."""

    known_claims: dict[NodeName, ZoneClaim] = field(default_factory=dict)
    neighbour_claims: dict[NodeName, ZoneClaim] = field(default_factory=dict)

    def receive_claims(
        self, claims: ZoneClaims, own_zones: Iterable[CanZone]
    ) -> tuple[bool, list[NodeName]]:
        """Store claims that are newer than the known ones, and remove zones of departed nodes.

        The zones of a departed node are removed only if the received claims contain all of them.

        Returns:
            Whether a claim was newer, and the nodes that became neighbours.
        """
        own_zones, previous_neighbours = list(own_zones), set(self.neighbour_claims)
        newer_claims = {
            name: claim
            for name, claim in claims.claims.items()
            if name not in self.known_claims or self.known_claims[name].epoch < claim.epoch
        }
        for name, claim in newer_claims.items():
            self._accept_claim(name, claim, own_zones)
        for name in claims.departed_nodes:
            self._remove_departed(name, claims)
        return bool(newer_claims), [
            name
            for name in newer_claims
            if name in self.neighbour_claims.keys() - previous_neighbours
        ]

    def merge_claims(self, other_claims: dict[NodeName, ZoneClaim]) -> None:
        """Store those claims from another node's view that are newer.

        Call `recompute_neighbours` afterwards.
        """
        for name, claim in other_claims.items():
            if name not in self.known_claims or self.known_claims[name].epoch < claim.epoch:
                self.known_claims[name] = claim

    def recompute_neighbours(self, own_zones: Iterable[CanZone]) -> None:
        """Recompute which nodes are neighbours, after own zones or claims have changed."""
        own_zones = list(own_zones)
        self.neighbour_claims = {
            name: claim
            for name, claim in self.known_claims.items()
            if touches_any(own_zones, claim.zones)
        }

    def _accept_claim(self, name: NodeName, claim: ZoneClaim, own_zones: list[CanZone]) -> None:
        """Store a newer claim, and update whether its node is a neighbour."""
        self.known_claims[name] = claim
        if touches_any(own_zones, claim.zones):
            self.neighbour_claims[name] = claim
        else:
            self.neighbour_claims.pop(name, None)

    def _remove_departed(self, name: NodeName, claims: ZoneClaims) -> None:
        """Remove the zones of a node that left, if the given claims contain all of these zones.

        Otherwise the claim of the node remains, because the node forwards messages.
        """
        claimed_zones = [zone for claim in claims.claims.values() for zone in claim.zones]
        if name in self.known_claims and all(
            any(zone.is_within(other) for other in claimed_zones)
            for zone in self.known_claims[name].zones
        ):
            self.neighbour_claims.pop(name, None)
            self.known_claims[name] = ZoneClaim(self.known_claims[name].epoch, ())


def touches_any(zones: Iterable[CanZone], other_zones: Iterable[CanZone]) -> bool:
    """Return whether one of `zones` has a face in common with one of `other_zones`."""
    other_zones = list(other_zones)
    return any(zone.touches(other) for zone in zones for other in other_zones)
