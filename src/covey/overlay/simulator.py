"""A network that exists only here: nodes, messages in flight, and time.

Nodes are handlers without I/O: a message in, messages out. The same seed gives the same run,
message for message. Between two nodes messages arrive in order, after random delays, so that those
of different pairs arrive in any order. With `Faults` packets are lost, repeated and overtaken, and
nodes may crash; numbers, acknowledgements and retries then restore the order
(`covey.overlay.reliable_channel`). With `coalesce`, what a node sends while an earlier message of
the same kind is still on its way to the same neighbour goes along with it, if such messages can be
coalesced (they have a method `coalesce`).

Cost: some microseconds of Python a message, and what its handler costs.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from heapq import heappop, heappush
from typing import Any, Protocol

from covey.errors import InvalidArgumentError
from covey.overlay.faults import Faults
from covey.overlay.reliable_channel import ChannelReceiver, ChannelSender

__all__ = ["OUTSIDE", "Node", "NodeName", "OutgoingMessages", "Simulator"]

NodeName = Hashable
OutgoingMessages = Iterable[tuple[NodeName, object]]
OUTSIDE: NodeName = None
"""Who sends what comes from outside the network, and receives what leaves it."""

_RETRY_DELAY = 8.0  # in mean delays: how long after a packet it is sent again
_MAX_STEPS = 10_000_000  # steps of one run: more means that messages go round and round


class Node(Protocol):
    """What takes part: its state changes with the messages that it gets, and with nothing else."""

    def receive(self, sender: NodeName, message: object) -> OutgoingMessages:
        """Handles a message; gives messages and who gets them."""
        ...


class Simulator:
    """Nodes by name, what is in flight between them, and all that they told the outside.

    >>> class Echo:
    ...     def receive(self, sender, message):
    ...         yield (OUTSIDE, message) if sender else ("b", message)
    >>> network = Simulator(seed=1)
    >>> network.add("a", Echo()); network.add("b", Echo())
    >>> network.inject("a", "hello"); network.run()
    >>> network.outputs
    [('b', 'hello')]
    """

    def __init__(
        self, seed: int = 0, faults: Faults | None = None, *, coalesce: bool = False
    ) -> None:
        if coalesce and faults is not None:
            raise InvalidArgumentError(
                "packets that may be lost are not joined: faults, or coalesce"
            )
        self.nodes: dict[NodeName, Node] = {}
        self.outputs: list[tuple[NodeName, object]] = []
        self.sent_counts: Counter[str] = Counter()
        """Messages between nodes, by the name of their class; joined ones are one."""
        self.now = 0.0
        self.on_output: Callable[[NodeName, Any], None] | None = None
        self.on_send: Callable[[NodeName, NodeName, Any], None] | None = None
        self._random, self._faults, self._coalesce = random.Random(seed), faults, coalesce
        self._last_in_flight: dict[tuple[NodeName, NodeName], list[object]] = {}
        self._event_queue: list[tuple[float, int, Callable[[], None]]] = []
        self._sequence_number = 0
        self._last_arrival: defaultdict[tuple[NodeName, NodeName], float] = defaultdict(float)
        self._senders: defaultdict[tuple[NodeName, NodeName], ChannelSender] = defaultdict(
            ChannelSender
        )
        self._receivers: defaultdict[tuple[NodeName, NodeName], ChannelReceiver] = defaultdict(
            ChannelReceiver
        )
        self._retrying_pairs: set[tuple[NodeName, NodeName]] = set()
        self._down_queues: dict[NodeName, list[object]] = {}

    def add(self, name: NodeName, node: Node) -> None:
        """A node more."""
        if name in self.nodes:
            raise InvalidArgumentError(f"there is a node {name!r} already")
        self.nodes[name] = node

    def inject(self, name: NodeName, message: object) -> None:
        """A message from outside, handled at once, or when the node is up again."""
        if name in self._down_queues:
            self._down_queues[name].append(message)
        else:
            self._handle_message(OUTSIDE, name, message)

    def crash(self, name: NodeName, duration: float) -> None:
        """The node is down for so long: packets to it are lost; its state it keeps."""
        if self._faults is None:
            raise InvalidArgumentError(
                "a node crashes only where packets are sent again: give faults"
            )
        if name not in self._down_queues:
            self._down_queues[name] = []
            self._schedule(self.now + duration, lambda: self._restart_node(name))

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in flight, and nothing will be sent again."""
        return not self._event_queue

    def step(self) -> bool:
        """The next thing that happens; whether there was one."""
        if not self._event_queue:
            return False
        self.now, _, action = heappop(self._event_queue)
        action()
        return True

    def run(self, max_steps: int | None = None) -> None:
        """So many steps, or until nothing is in flight."""
        for _ in range(_MAX_STEPS if max_steps is None else max_steps):
            if not self.step():
                return
        if max_steps is None:
            raise RuntimeError(f"{_MAX_STEPS:,} steps, and messages are still in flight")

    def _handle_message(self, sender: NodeName, name: NodeName, message: object) -> None:
        for to, answer in self.nodes[name].receive(sender, message):
            if to is OUTSIDE:
                self.outputs.append((name, answer))
                if self.on_output is not None:
                    self.on_output(name, answer)
            else:
                self._send(name, to, answer)

    def _send(self, sender: NodeName, receiver: NodeName, message: object) -> None:
        if self.on_send is not None:
            self.on_send(sender, receiver, message)
        pair = (sender, receiver)
        if self._try_coalesce(pair, message):
            return
        self.sent_counts[type(message).__name__] += 1
        if self._faults is None:
            self._last_arrival[pair] = when = max(
                self._last_arrival[pair], self._draw_arrival_time()
            )
            self._last_in_flight[pair] = waiting = [message]
            self._schedule(when, lambda: self._deliver_in_flight(pair, waiting))
        else:
            self._send_packet(pair, self._senders[pair].send(message), message)
            self._schedule_retry(pair)

    def _try_coalesce(self, pair: tuple[NodeName, NodeName], message: object) -> bool:
        """Whether a message was joined with the one before it, which has not arrived."""
        waiting = self._last_in_flight.get(pair)
        if not self._coalesce or waiting is None or not hasattr(message, "coalesce"):
            return False
        if type(waiting[-1]) is not type(message):
            return False
        waiting.append(message)
        return True

    def _deliver_in_flight(self, pair: tuple[NodeName, NodeName], messages: list[object]) -> None:
        if self._last_in_flight[pair] is messages:
            del self._last_in_flight[pair]
        first: Any = messages[0]
        message = first if len(messages) == 1 else first.coalesce(messages[1:])
        self._handle_message(*pair, message)

    def _send_packet(self, pair: tuple[NodeName, NodeName], number: int, message: object) -> None:
        """Puts a packet on its way, or loses it."""
        assert self._faults is not None
        for _ in range(1 + (self._random.random() < self._faults.duplicate_probability)):
            if self._random.random() >= self._faults.loss_probability:
                self._schedule(
                    self._draw_arrival_time(), lambda: self._receive_packet(pair, number, message)
                )

    def _receive_packet(
        self, pair: tuple[NodeName, NodeName], number: int, message: object
    ) -> None:
        sender, name = pair
        if name in self._down_queues:
            return
        receiving = self._receivers[pair]
        for ready in receiving.receive(number, message):
            self._handle_message(sender, name, ready)
        assert self._faults is not None
        if self._random.random() >= self._faults.loss_probability:
            expected = receiving.next_number
            self._schedule(
                self._draw_arrival_time(), lambda: self._receive_acknowledgement(pair, expected)
            )

    def _receive_acknowledgement(self, pair: tuple[NodeName, NodeName], before_number: int) -> None:
        if pair[0] not in self._down_queues:
            self._senders[pair].acknowledge(before_number)

    def _schedule_retry(self, pair: tuple[NodeName, NodeName]) -> None:
        if pair not in self._retrying_pairs:
            self._retrying_pairs.add(pair)
            self._schedule(self.now + _RETRY_DELAY, lambda: self._resend_packets(pair))

    def _resend_packets(self, pair: tuple[NodeName, NodeName]) -> None:
        self._retrying_pairs.discard(pair)
        waiting = self._senders[pair].unacknowledged_messages
        if waiting:
            if pair[0] not in self._down_queues:
                for number, message in waiting.items():
                    self._send_packet(pair, number, message)
            self._schedule_retry(pair)

    def _restart_node(self, name: NodeName) -> None:
        for message in self._down_queues.pop(name):
            self._handle_message(OUTSIDE, name, message)

    def _draw_arrival_time(self) -> float:
        return self.now + self._random.expovariate(1.0)

    def _schedule(self, at_time: float, action: Callable[[], None]) -> None:
        self._sequence_number += 1
        heappush(self._event_queue, (at_time, self._sequence_number, action))
