"""A network that exists only here: nodes, messages in flight, and time.

Nodes are handlers without I/O: a message in, messages out. The same seed gives the same run,
message for message. Between two nodes messages arrive in order, after random delays, so that those
of different pairs arrive in any order. With `Faults` packets are lost, repeated and overtaken, and
nodes may crash; numbers, acknowledgements and retries then restore the order
(`covey.overlay.channel`). With `joining`, what a node sends while an earlier message of the same
kind is still on its way to the same neighbour goes along with it, if such messages can be `joined`.

Cost: some microseconds of Python a message, and what its handler costs.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from heapq import heappop, heappush
from typing import Any, Protocol

from covey.errors import ValueRefused
from covey.overlay.channel import Receiving, Sending
from covey.overlay.faults import Faults

__all__ = ["OUTSIDE", "Name", "Node", "Sends", "Simulator"]

Name = Hashable
Sends = Iterable[tuple[Name, Any]]
OUTSIDE: Name = None
"""Who sends what comes from outside the network, and receives what leaves it."""

_RETRY = 8.0  # in mean delays: how long after a packet it is sent again
_LONGEST = 10_000_000  # steps of one run: more means that messages go round and round


class Node(Protocol):
    """What takes part: its state changes with the messages that it gets, and with nothing else."""

    def receive(self, sender: Name, message: Any) -> Sends:
        """Handles a message; gives messages and who gets them."""
        ...


class Simulator:
    """Nodes by name, what is in flight between them, and all that they told the outside.

    >>> class Echo:
    ...     def receive(self, sender, message):
    ...         yield (OUTSIDE, message) if sender else ("b", message)
    >>> network = Simulator(seed=1)
    >>> network.add("a", Echo()); network.add("b", Echo())
    >>> network.tell("a", "hello"); network.run()
    >>> network.told
    [('b', 'hello')]
    """

    def __init__(self, seed: int = 0, faults: Faults | None = None, joining: bool = False) -> None:
        if joining and faults is not None:
            raise ValueRefused("packets that may be lost are not joined: faults, or joining")
        self.nodes: dict[Name, Node] = {}
        self.told: list[tuple[Name, Any]] = []
        self.sent: Counter[str] = Counter()
        """Messages between nodes, by the name of their class; joined ones are one."""
        self.now = 0.0
        self.on_told: Callable[[Name, Any], None] | None = None
        self.on_sent: Callable[[Name, Name, Any], None] | None = None
        self._random, self._faults, self._joining = random.Random(seed), faults, joining
        self._newest: dict[tuple[Name, Name], list[Any]] = {}
        self._flight: list[tuple[float, int, Callable[[], None]]] = []
        self._order = 0
        self._last: defaultdict[tuple[Name, Name], float] = defaultdict(float)
        self._sending: defaultdict[tuple[Name, Name], Sending] = defaultdict(Sending)
        self._receiving: defaultdict[tuple[Name, Name], Receiving] = defaultdict(Receiving)
        self._retrying: set[tuple[Name, Name]] = set()
        self._down: dict[Name, list[Any]] = {}

    def add(self, name: Name, node: Node) -> None:
        """A node more."""
        if name in self.nodes:
            raise ValueRefused(f"there is a node {name!r} already")
        self.nodes[name] = node

    def tell(self, name: Name, message: Any) -> None:
        """A message from outside, handled at once, or when the node is up again."""
        if name in self._down:
            self._down[name].append(message)
        else:
            self._handle(OUTSIDE, name, message)

    def crash(self, name: Name, seconds: float) -> None:
        """The node is down for so long: packets to it are lost; its state it keeps."""
        if self._faults is None:
            raise ValueRefused("a node crashes only where packets are sent again: give faults")
        if name not in self._down:
            self._down[name] = []
            self._at(self.now + seconds, lambda: self._up(name))

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is in flight, and nothing will be sent again."""
        return not self._flight

    def step(self) -> bool:
        """The next thing that happens; whether there was one."""
        if not self._flight:
            return False
        self.now, _, action = heappop(self._flight)
        action()
        return True

    def run(self, steps: int | None = None) -> None:
        """So many steps, or until nothing is in flight."""
        for _ in range(_LONGEST if steps is None else steps):
            if not self.step():
                return
        if steps is None:
            raise RuntimeError(f"{_LONGEST:,} steps, and messages are still in flight")

    def _handle(self, sender: Name, name: Name, message: Any) -> None:
        for to, answer in self.nodes[name].receive(sender, message):
            if to is OUTSIDE:
                self.told.append((name, answer))
                if self.on_told is not None:
                    self.on_told(name, answer)
            else:
                self._send(name, to, answer)

    def _send(self, sender: Name, to: Name, message: Any) -> None:
        if self.on_sent is not None:
            self.on_sent(sender, to, message)
        pair = (sender, to)
        if self._goes_along(pair, message):
            return
        self.sent[type(message).__name__] += 1
        if self._faults is None:
            self._last[pair] = when = max(self._last[pair], self._later())
            self._newest[pair] = waiting = [message]
            self._at(when, lambda: self._arrive(pair, waiting))
        else:
            self._packet(pair, self._sending[pair].send(message), message)
            self._retry_later(pair)

    def _goes_along(self, pair: tuple[Name, Name], message: Any) -> bool:
        """Whether a message was joined with the one before it, which has not arrived."""
        waiting = self._newest.get(pair)
        if not self._joining or waiting is None or not hasattr(message, "joined"):
            return False
        if type(waiting[-1]) is not type(message):
            return False
        waiting.append(message)
        return True

    def _arrive(self, pair: tuple[Name, Name], waiting: list[Any]) -> None:
        if self._newest[pair] is waiting:
            del self._newest[pair]
        message = waiting[0] if len(waiting) == 1 else waiting[0].joined(waiting[1:])
        self._handle(*pair, message)

    def _packet(self, pair: tuple[Name, Name], number: int, message: Any) -> None:
        """Puts a packet on its way, or loses it."""
        assert self._faults is not None
        for _ in range(1 + (self._random.random() < self._faults.twice)):
            if self._random.random() >= self._faults.lost:
                self._at(self._later(), lambda: self._arrived(pair, number, message))

    def _arrived(self, pair: tuple[Name, Name], number: int, message: Any) -> None:
        sender, name = pair
        if name in self._down:
            return
        receiving = self._receiving[pair]
        for ready in receiving.receive(number, message):
            self._handle(sender, name, ready)
        assert self._faults is not None
        if self._random.random() >= self._faults.lost:
            expected = receiving.expected
            self._at(self._later(), lambda: self._acknowledged(pair, expected))

    def _acknowledged(self, pair: tuple[Name, Name], before: int) -> None:
        if pair[0] not in self._down:
            self._sending[pair].acknowledged(before)

    def _retry_later(self, pair: tuple[Name, Name]) -> None:
        if pair not in self._retrying:
            self._retrying.add(pair)
            self._at(self.now + _RETRY, lambda: self._retry(pair))

    def _retry(self, pair: tuple[Name, Name]) -> None:
        self._retrying.discard(pair)
        waiting = self._sending[pair].unacknowledged
        if waiting:
            if pair[0] not in self._down:
                for number, message in waiting.items():
                    self._packet(pair, number, message)
            self._retry_later(pair)

    def _up(self, name: Name) -> None:
        for message in self._down.pop(name):
            self._handle(OUTSIDE, name, message)

    def _later(self) -> float:
        return self.now + self._random.expovariate(1.0)

    def _at(self, when: float, action: Callable[[], None]) -> None:
        self._order += 1
        heappush(self._flight, (when, self._order, action))
