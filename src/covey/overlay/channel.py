"""One direction between two nodes: what arrives lost, twice or early is given once and in order.

The sender numbers messages and keeps each until it is acknowledged; the receiver keeps what came
early. Both survive a crash with their node.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Receiving", "Sending"]


@dataclass(slots=True)
class Sending:
    """The sender's end.

    >>> end = Sending()
    >>> end.send("a"), end.send("b")
    (0, 1)
    >>> end.acknowledged(1)
    >>> end.unacknowledged
    {1: 'b'}
    """

    next: int = 0
    unacknowledged: dict[int, Any] = field(default_factory=dict)

    def send(self, message: Any) -> int:
        """Its number; it is kept until all up to it are acknowledged."""
        number = self.next
        self.unacknowledged[number] = message
        self.next += 1
        return number

    def acknowledged(self, before: int) -> None:
        """All messages before a number have arrived."""
        for number in [number for number in self.unacknowledged if number < before]:
            del self.unacknowledged[number]


@dataclass(slots=True)
class Receiving:
    """The receiver's end.

    >>> end = Receiving()
    >>> end.receive(1, "b"), end.receive(0, "a"), end.receive(0, "a"), end.expected
    ([], ['a', 'b'], [], 2)
    """

    expected: int = 0
    early: dict[int, Any] = field(default_factory=dict)

    def receive(self, number: int, message: Any) -> list[Any]:
        """The messages that are next in order now."""
        if number >= self.expected:
            self.early[number] = message
        ready = []
        while self.expected in self.early:
            ready.append(self.early.pop(self.expected))
            self.expected += 1
        return ready
