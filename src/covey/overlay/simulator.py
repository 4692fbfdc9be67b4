"""A simulated network: nodes, messages in flight, and time.

Nodes are handlers without I/O: they receive a message and return messages. The same seed always
gives the same run, message for message. Messages between two nodes arrive in order, after random
delays; messages of different pairs of nodes arrive in any order. With `Faults`, packets are lost,
duplicated and reordered, and nodes may crash. Then sequence numbers, acknowledgements and retries
restore the messages and their order (`covey.overlay.reliable_channel`). With `coalesce`, a message
is joined with the last message in flight from the same sender to the same receiver, if both
messages have the same class and this class has a method `coalesce`.

Cost: some microseconds of Python per message, plus the cost of its handler.
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
"""Name of the outside of the network, as the sender or the receiver of a message."""

_RETRY_DELAY = 8.0  # time until unacknowledged packets are sent again, in mean delays of a packet
_MAX_STEPS = 10_000_000  # a run with more steps is treated as an endless loop


class Node(Protocol):
    """A node of the network. Its state changes only when it receives a message."""

    def receive(self, sender: NodeName, message: object) -> OutgoingMessages:
        """Handle a message, and return the messages to send as pairs of receiver and message."""
        ...


class Simulator:
    """Simulated network: nodes by name, messages in flight, and messages to the outside.

    Args:
        seed: seed of all random delays and faults.
        faults: probabilities of faults; None for a network that loses no packets and has no
            crashes.
        coalesce: whether messages in flight are joined; this excludes `faults`.

    Raises:
        InvalidArgumentError: both `faults` and `coalesce` are given.

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
                "faults and coalesce cannot be combined, because packets that may be lost are not "
                "joined: use only one of them"
            )
        self.nodes: dict[NodeName, Node] = {}
        self.outputs: list[tuple[NodeName, object]] = []
        self.sent_counts: Counter[str] = Counter()
        """Numbers of messages between nodes, by the name of their class.

        Messages that were joined count as one.
        """
        self.now = 0.0
        """Simulated time, in mean delays of a packet."""
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
        """Add a node.

        Raises:
            InvalidArgumentError: a node has this name already.
        """
        if name in self.nodes:
            raise InvalidArgumentError(f"a node {name!r} exists already: use another name")
        self.nodes[name] = node

    def inject(self, name: NodeName, message: object) -> None:
        """Let a node handle a message from outside; if it is down, after its restart."""
        if name in self._down_queues:
            self._down_queues[name].append(message)
        else:
            self._handle_message(OUTSIDE, name, message)

    def crash(self, name: NodeName, duration: float) -> None:
        """Take a node down for a time; packets to it are lost, but its state is preserved.

        If the node is down already, nothing changes.

        Args:
            name: the node.
            duration: simulated time until the restart, in mean delays of a packet.

        Raises:
            InvalidArgumentError: the simulator was constructed without `faults`.
        """
        if self._faults is None:
            raise InvalidArgumentError(
                f"node {name!r} cannot crash, because lost packets are sent again only with "
                "faults: construct the simulator with faults=Faults(…)"
            )
        if name not in self._down_queues:
            self._down_queues[name] = []
            self._schedule(self.now + duration, lambda: self._restart_node(name))

    @property
    def is_idle(self) -> bool:
        """Whether nothing is scheduled: no message, no retry, and no restart of a node."""
        return not self._event_queue

    def step(self) -> bool:
        """Process the next scheduled action; return False if there is none."""
        if not self._event_queue:
            return False
        self.now, _, action = heappop(self._event_queue)
        action()
        return True

    def run(self, max_steps: int | None = None) -> None:
        """Process scheduled actions until there are none, or at most `max_steps` actions.

        Raises:
            RuntimeError: without `max_steps`, actions are still scheduled after 10 million steps.
        """
        for _ in range(_MAX_STEPS if max_steps is None else max_steps):
            if not self.step():
                return
        if max_steps is None:
            raise RuntimeError(
                f"messages are still in flight after {_MAX_STEPS:,} steps: nodes probably answer "
                "each other without end"
            )

    def _handle_message(self, sender: NodeName, name: NodeName, message: object) -> None:
        """Let a node handle a message, and send its answers."""
        for to, answer in self.nodes[name].receive(sender, message):
            if to is OUTSIDE:
                self.outputs.append((name, answer))
                if self.on_output is not None:
                    self.on_output(name, answer)
            else:
                self._send(name, to, answer)

    def _send(self, sender: NodeName, receiver: NodeName, message: object) -> None:
        """Send a message; without faults it arrives after all earlier messages of the pair."""
        if self.on_send is not None:
            self.on_send(sender, receiver, message)
        pair = (sender, receiver)
        if self._try_coalesce(pair, message):
            return
        self.sent_counts[type(message).__name__] += 1
        if self._faults is None:
            self._last_arrival[pair] = arrival_time = max(
                self._last_arrival[pair], self._draw_arrival_time()
            )
            self._last_in_flight[pair] = messages = [message]
            self._schedule(arrival_time, lambda: self._deliver_in_flight(pair, messages))
        else:
            self._send_packet(pair, self._senders[pair].send(message), message)
            self._schedule_retry(pair)

    def _try_coalesce(self, pair: tuple[NodeName, NodeName], message: object) -> bool:
        """Join a message with the last one in flight; return False if that is not possible."""
        messages = self._last_in_flight.get(pair)
        if not self._coalesce or messages is None or not hasattr(message, "coalesce"):
            return False
        if type(messages[-1]) is not type(message):
            return False
        messages.append(message)
        return True

    def _deliver_in_flight(self, pair: tuple[NodeName, NodeName], messages: list[object]) -> None:
        """Deliver the messages that were joined in flight, as one message."""
        if self._last_in_flight[pair] is messages:
            del self._last_in_flight[pair]
        first: Any = messages[0]
        message = first if len(messages) == 1 else first.coalesce(messages[1:])
        self._handle_message(*pair, message)

    def _send_packet(self, pair: tuple[NodeName, NodeName], number: int, message: object) -> None:
        """Schedule the arrival of a packet and of its duplicate, if any; either may be lost."""
        assert self._faults is not None
        for _ in range(1 + (self._random.random() < self._faults.duplicate_probability)):
            if self._random.random() >= self._faults.loss_probability:
                self._schedule(
                    self._draw_arrival_time(), lambda: self._receive_packet(pair, number, message)
                )

    def _receive_packet(
        self, pair: tuple[NodeName, NodeName], number: int, message: object
    ) -> None:
        """Let the node handle the messages that are next in order, and schedule an acknowledgement.

        If the node is down, the packet is lost.
        """
        sender, name = pair
        if name in self._down_queues:
            return
        channel = self._receivers[pair]
        for ready in channel.receive(number, message):
            self._handle_message(sender, name, ready)
        assert self._faults is not None
        if self._random.random() >= self._faults.loss_probability:
            expected = channel.next_number
            self._schedule(
                self._draw_arrival_time(), lambda: self._receive_acknowledgement(pair, expected)
            )

    def _receive_acknowledgement(self, pair: tuple[NodeName, NodeName], before_number: int) -> None:
        """Drop acknowledged messages at the sender; if it is down, the acknowledgement is lost."""
        if pair[0] not in self._down_queues:
            self._senders[pair].acknowledge(before_number)

    def _schedule_retry(self, pair: tuple[NodeName, NodeName]) -> None:
        """Schedule a retry for a pair of nodes, unless one is scheduled already."""
        if pair not in self._retrying_pairs:
            self._retrying_pairs.add(pair)
            self._schedule(self.now + _RETRY_DELAY, lambda: self._resend_packets(pair))

    def _resend_packets(self, pair: tuple[NodeName, NodeName]) -> None:
        """Send all unacknowledged messages of a pair again, and schedule the next retry.

        If the sender is down, only the retry is scheduled. If all messages are acknowledged,
        nothing is done.
        """
        self._retrying_pairs.discard(pair)
        messages = self._senders[pair].unacknowledged_messages
        if messages:
            if pair[0] not in self._down_queues:
                for number, message in messages.items():
                    self._send_packet(pair, number, message)
            self._schedule_retry(pair)

    def _restart_node(self, name: NodeName) -> None:
        """Restart a node, and handle the outside messages that arrived while it was down."""
        for message in self._down_queues.pop(name):
            self._handle_message(OUTSIDE, name, message)

    def _draw_arrival_time(self) -> float:
        """Return the time at which a message that is sent now arrives; the mean delay is 1."""
        return self.now + self._random.expovariate(1.0)

    def _schedule(self, at_time: float, action: Callable[[], None]) -> None:
        """Schedule an action; actions of the same time run in the order of these calls."""
        self._sequence_number += 1
        heappush(self._event_queue, (at_time, self._sequence_number, action))
