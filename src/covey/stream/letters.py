"""Changes that could not be read, for the dead-letter topic."""

from __future__ import annotations

import json
from collections.abc import Sequence

from confluent_kafka import Producer

from covey.errors import StreamError
from covey.stream.cluster import Cluster
from covey.stream.messages import Change

__all__ = ["Letters"]

_TIMEOUT_S = 60.0


class Letters:
    """Writes them, each once or, after a failure, again."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._cluster, self._topic = cluster, topic
        self._producer: Producer | None = None

    def of_changes(self, changes: Sequence[Change]) -> None:
        """When it returns, Kafka has them all."""
        if not changes:
            return
        if self._producer is None:
            self._producer = self._cluster.producer()
        for change in changes:
            letter = {"change": change.place, "subscription": change.id, "reason": change.problem}
            value = json.dumps(letter, ensure_ascii=False, separators=(",", ":")).encode()
            self._producer.produce(self._topic, value, change.id.encode())
            self._producer.poll(0)
        if self._producer.flush(_TIMEOUT_S):
            raise StreamError(f"{self._topic!r} took no message for {_TIMEOUT_S:g} seconds")
