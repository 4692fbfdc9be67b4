"""Floods: something that every zone must hear that a box meets, and how it is known that all have.

Each node that hears of a flood for the first time tells all neighbours whose zones the box meets,
and answers who told it when all of them have answered; whoever has heard of it answers at once. So
the first one knows when all have heard. The answers add up what nodes have to say. (papers: can)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from covey.overlay.can.messages import Flood, FloodDone, FloodReply
from covey.overlay.simulator import NodeName

__all__ = ["FloodTracker"]


@dataclass(slots=True)
class _OpenFlood:
    """A flood that some have not answered yet."""

    flood: Flood
    pending_replies: int
    sent_events: int


@dataclass(slots=True)
class FloodTracker:
    """The floods of one node: which it has heard of, and which are open."""

    node_name: NodeName
    seen_floods: set[tuple[int, int]] = field(default_factory=set)
    _open_floods: dict[int, _OpenFlood] = field(default_factory=dict)
    _last_token: int = 0

    def try_register(self, flood: Flood) -> bool:
        """Whether it was not heard of; it is from now on."""
        key = (flood.subscription.id, flood.flood_number)
        if key in self.seen_floods:
            return False
        self.seen_floods.add(key)
        return True

    def expects(self, reply: FloodReply) -> bool:
        """Whether an answer is to a question of this node."""
        return reply.token in self._open_floods

    def forward(
        self, flood: Flood, neighbours: Iterable[NodeName], sent_events: int
    ) -> tuple[list[tuple[NodeName, Flood]], FloodReply | FloodDone | None]:
        """Tells others; gives the answer to the flood if there are none."""
        self._last_token += 1
        told = [
            (
                name,
                Flood(
                    flood.subscription,
                    flood.flood_number,
                    flood.stores,
                    flood.home_node,
                    self.node_name,
                    self._last_token,
                ),
            )
            for name in neighbours
        ]
        found = _OpenFlood(flood, len(told), sent_events)
        if not told:
            return [], _make_reply(found)
        self._open_floods[self._last_token] = found
        return told, None

    def receive_reply(self, reply: FloodReply) -> tuple[Flood, FloodReply | FloodDone] | None:
        """One of the others is done: the flood, and what it is answered with if all are."""
        found = self._open_floods[reply.token]
        found.pending_replies -= 1
        found.sent_events += reply.sent_events
        if found.pending_replies:
            return None
        del self._open_floods[reply.token]
        return found.flood, _make_reply(found)


def _make_reply(open_flood: _OpenFlood) -> FloodReply | FloodDone:
    """Who started it tells the seat."""
    flood = open_flood.flood
    if flood.reply_to is None:
        return FloodDone(
            flood.subscription.id, flood.flood_number, flood.stores, open_flood.sent_events
        )
    return FloodReply(flood.token, open_flood.sent_events)
