"""What a node believes of who owns what around it.

Claims have versions, and newer ones win. A belief may be old, but there is one for all that touches
the node's own zones: who gives a zone away tells all neighbours in one message what both have then,
and goes on to forward what comes for it. So what is sent by an old belief arrives, by a detour.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from covey.overlay.can.messages import Claim, Claims
from covey.overlay.can.zones import Zone
from covey.overlay.simulator import Name

__all__ = ["Beliefs", "touch"]


@dataclass(slots=True)
class Beliefs:
    """The newest claims that were heard of, and which of them are neighbours'."""

    known: dict[Name, Claim] = field(default_factory=dict)
    neighbours: dict[Name, Claim] = field(default_factory=dict)

    def hear(self, claims: Claims, mine: Iterable[Zone]) -> tuple[bool, list[Name]]:
        """Believes what is newer; whether anything was, and the neighbours that are new."""
        mine, before = list(mine), set(self.neighbours)
        news = {
            name: claim
            for name, claim in claims.claims.items()
            if name not in self.known or self.known[name].version < claim.version
        }
        for name, claim in news.items():
            self._believe(name, claim, mine)
        for name in claims.gone:
            self._forget(name, claims)
        return bool(news), [name for name in news if name in self.neighbours.keys() - before]

    def add(self, others: dict[Name, Claim]) -> None:
        """Believes what another node does, as far as it is newer."""
        for name, claim in others.items():
            if name not in self.known or self.known[name].version < claim.version:
                self.known[name] = claim

    def seen_from(self, mine: Iterable[Zone]) -> None:
        """Finds the neighbours of other zones than before."""
        mine = list(mine)
        self.neighbours = {
            name: claim for name, claim in self.known.items() if touch(mine, claim.zones)
        }

    def _believe(self, name: Name, claim: Claim, mine: list[Zone]) -> None:
        self.known[name] = claim
        if touch(mine, claim.zones):
            self.neighbours[name] = claim
        else:
            self.neighbours.pop(name, None)

    def _forget(self, name: Name, claims: Claims) -> None:
        """One that left, if all that it is believed to have is with those who say so.

        Otherwise the belief stays: who left forwards.
        """
        theirs = [zone for claim in claims.claims.values() for zone in claim.zones]
        if name in self.known and all(
            any(zone.within(other) for other in theirs) for zone in self.known[name].zones
        ):
            self.neighbours.pop(name, None)
            self.known[name] = Claim(self.known[name].version, ())


def touch(some: Iterable[Zone], others: Iterable[Zone]) -> bool:
    """Whether one of some zones has a face in common with one of others."""
    others = list(others)
    return any(one.touches(other) for one in some for other in others)
