"""A reliable channel in one direction between two nodes, over packets that may be lost.

Every message is received once and in order, although packets are lost, duplicated and reordered.
The sender numbers messages, and stores each until it is acknowledged. The receiver stores a message
until all messages with lower numbers have arrived. The state of both ends belongs to nodes and
survives their crashes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["ChannelReceiver", "ChannelSender"]


@dataclass(slots=True)
class ChannelSender:
    """The sender's end of a channel: it numbers messages, and stores unacknowledged ones.

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
        """Store a message until it is acknowledged, and return its number."""
        number = self.next_number
        self.unacknowledged_messages[number] = message
        self.next_number += 1
        return number

    def acknowledge(self, before_number: int) -> None:
        """Drop all messages with a number below `before_number`, because they have arrived."""
        for number in [number for number in self.unacknowledged_messages if number < before_number]:
            del self.unacknowledged_messages[number]


@dataclass(slots=True)
class ChannelReceiver:
    """The receiver's end of a channel: it drops duplicates, and puts messages in order.

    >>> end = ChannelReceiver()
    >>> end.receive(1, "b"), end.receive(0, "a"), end.receive(0, "a"), end.next_number
    ([], ['a', 'b'], [], 2)
    """

    next_number: int = 0
    early_messages: dict[int, Any] = field(default_factory=dict)

    def receive(self, number: int, message: object) -> list[object]:
        """Return the messages that are next in order after the arrival of a message.

        A message that arrives too early is stored, and nothing is returned. A message that arrived
        before is dropped.
        """
        if number >= self.next_number:
            self.early_messages[number] = message
        ready = []
        while self.next_number in self.early_messages:
            ready.append(self.early_messages.pop(self.next_number))
            self.next_number += 1
        return ready
