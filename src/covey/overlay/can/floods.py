"""Floods: something that every zone must hear that a box meets, and how it is known that all have.

Each node that hears of a flood for the first time tells all neighbours whose zones the box meets,
and answers who told it when all of them have answered; whoever has heard of it answers at once. So
the first one knows when all have heard. The answers add up what nodes have to say. (papers: can)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from covey.overlay.can.messages import Echo, Flood, Flooded
from covey.overlay.simulator import Name

__all__ = ["Floods"]


@dataclass(slots=True)
class _Open:
    """A flood that some have not answered yet."""

    flood: Flood
    pending: int
    sent: int


@dataclass(slots=True)
class Floods:
    """The floods of one node: which it has heard of, and which are open."""

    name: Name
    seen: set[tuple[int, int]] = field(default_factory=set)
    _open: dict[int, _Open] = field(default_factory=dict)
    _tokens: int = 0

    def is_new(self, flood: Flood) -> bool:
        """Whether it was not heard of; it is from now on."""
        key = (flood.subscription.id, flood.number)
        if key in self.seen:
            return False
        self.seen.add(key)
        return True

    def is_mine(self, echo: Echo) -> bool:
        """Whether an answer is to a question of this node."""
        return echo.token in self._open

    def ask(
        self, flood: Flood, others: Iterable[Name], sent: int
    ) -> tuple[list[tuple[Name, Flood]], Echo | Flooded | None]:
        """Tells others; gives the answer to the flood if there are none."""
        self._tokens += 1
        told = [
            (name, Flood(
                flood.subscription, flood.number, flood.stores, flood.home, self.name, self._tokens
            ))
            for name in others
        ]  # fmt: skip
        found = _Open(flood, len(told), sent)
        if not told:
            return [], _answer(found)
        self._open[self._tokens] = found
        return told, None

    def answered(self, echo: Echo) -> tuple[Flood, Echo | Flooded] | None:
        """One of the others is done: the flood, and what it is answered with if all are."""
        found = self._open[echo.token]
        found.pending -= 1
        found.sent += echo.sent
        if found.pending:
            return None
        del self._open[echo.token]
        return found.flood, _answer(found)


def _answer(found: _Open) -> Echo | Flooded:
    """Who started it tells the seat."""
    flood = found.flood
    if flood.reply_to is None:
        return Flooded(flood.subscription.id, flood.number, flood.stores, found.sent)
    return Echo(flood.token, found.sent)
