"""One direction between two nodes: what arrives lost, twice or early is given once and in order.

The sender numbers messages and keeps each until it is acknowledged; the receiver keeps what came
early. Both survive a crash with their node.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["ChannelReceiver", "ChannelSender"]


@dataclass(slots=True)
class ChannelSender:
    """The sender's end.

    >>> end = ChannelSender()
    >>> end.send("a"), end.send("b")
    (0, 1)
    >>> end.acknowledge(1)
    >>> end.unacknowledged_messages
    {1: 'b'}
    """

    next_number: int = 0
    unacknowledged_messages: dict[int, Any] = field(default_factory=dict)

    def send(self, message: object) -> int:
        """Its number; it is kept until all up to it are acknowledged."""
        number = self.next_number
        self.unacknowledged_messages[number] = message
        self.next_number += 1
        return number

    def acknowledge(self, before_number: int) -> None:
        """All messages before a number have arrived."""
        for number in [number for number in self.unacknowledged_messages if number < before_number]:
            del self.unacknowledged_messages[number]


@dataclass(slots=True)
class ChannelReceiver:
    """The receiver's end.

    >>> end = ChannelReceiver()
    >>> end.receive(1, "b"), end.receive(0, "a"), end.receive(0, "a"), end.next_number
    ([], ['a', 'b'], [], 2)
    """

    next_number: int = 0
    early_messages: dict[int, Any] = field(default_factory=dict)

    def receive(self, number: int, message: object) -> list[object]:
        """The messages that are next in order now."""
        if number >= self.next_number:
            self.early_messages[number] = message
        ready = []
        while self.next_number in self.early_messages:
            ready.append(self.early_messages.pop(self.next_number))
            self.next_number += 1
        return ready
