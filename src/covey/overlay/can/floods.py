"""Floods: messages to all zones that a box meets, with replies that confirm their arrival.

A node that receives a flood for the first time forwards it to all neighbours whose zones meet the
box, and replies to its sender when all of these have replied. A node that has seen the flood before
replies at once. So the node that started a flood learns when it has arrived everywhere. A reply
contains a number of events, which nodes sum up on the way back. (papers: can)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from covey.overlay.can.messages import Flood, FloodDone, FloodReply
from covey.overlay.simulator import NodeName

__all__ = ["FloodTracker"]


@dataclass(slots=True)
class _OpenFlood:
    """A forwarded flood to which not all neighbours have replied.

    `sent_events` is the number of events that dropped replicas have sent: the replica of this node,
    and the replicas that the replies so far have counted.
    """

    flood: Flood
    pending_replies: int
    sent_events: int


@dataclass(slots=True)
class FloodTracker:
    """The floods of one node: the ones that it has seen, and the ones that await replies.

    A flood is identified by the id of its subscription and its number.
    """

    node_name: NodeName
    seen_floods: set[tuple[int, int]] = field(default_factory=set)
    _open_floods: dict[int, _OpenFlood] = field(default_factory=dict)
    _last_token: int = 0

    def try_register(self, flood: Flood) -> bool:
        """Mark a flood as seen; return False if it was seen before."""
        key = (flood.subscription.id, flood.flood_number)
        if key in self.seen_floods:
            return False
        self.seen_floods.add(key)
        return True

    def expects(self, reply: FloodReply) -> bool:
        """Return whether a reply is for a flood of this node that awaits replies."""
        return reply.token in self._open_floods

    def forward(
        self, flood: Flood, neighbours: Iterable[NodeName], sent_events: int
    ) -> tuple[list[tuple[NodeName, Flood]], FloodReply | FloodDone | None]:
        """Forward a flood to neighbours.

        Args:
            flood: the flood.
            neighbours: nodes to which the flood is forwarded.
            sent_events: if this node dropped a replica, the number of events that the replica had
                sent; otherwise 0.

        Returns:
            The messages to neighbours; and the answer to the flood if there are no neighbours,
            otherwise None.
        """
        self._last_token += 1
        forwarded = [
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
        open_flood = _OpenFlood(flood, len(forwarded), sent_events)
        if not forwarded:
            return [], _make_reply(open_flood)
        self._open_floods[self._last_token] = open_flood
        return forwarded, None

    def receive_reply(self, reply: FloodReply) -> tuple[Flood, FloodReply | FloodDone] | None:
        """Count a reply; if it is the last one, return the flood and its answer, otherwise None."""
        open_flood = self._open_floods[reply.token]
        open_flood.pending_replies -= 1
        open_flood.sent_events += reply.sent_events
        if open_flood.pending_replies:
            return None
        del self._open_floods[reply.token]
        return open_flood.flood, _make_reply(open_flood)


def _make_reply(open_flood: _OpenFlood) -> FloodReply | FloodDone:
    """Return the answer to a flood.

    At the node that started the flood it is a `FloodDone` for the seat; at other nodes it is a
    `FloodReply` to the node that sent the flood.
    """
    flood = open_flood.flood
    if flood.reply_to is None:
        return FloodDone(
            flood.subscription.id, flood.flood_number, flood.stores, open_flood.sent_events
        )
    return FloodReply(flood.token, open_flood.sent_events)
