"""What every workload offers: numbered subscriptions and events, without end."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from covey.geometry import Regions
from covey.space import Space

__all__ = ["Workload"]


class Workload(Protocol):
    """Subscriptions and events that are the same whenever and in whatever portions they are drawn.

    Row i of any of the three depends on the workload's parameters and on i, and on nothing else:
    not on how many rows are asked for, nor on where a portion starts. Subscription i is one region,
    and its predicate means exactly that region.

    Cost: whole blocks of `covey.workload.block_rng.BLOCK_ROWS` rows are drawn and cut, so ask for
    many rows.
    """

    @property
    def name(self) -> str:
        """What `create_workload` finds it by."""
        ...

    @property
    def space(self) -> Space:
        """The attributes of its events."""
        ...

    def generate_regions(self, start: int, stop: int) -> Regions:
        """Subscriptions `start` to `stop` (excluded) as columns."""
        ...

    def generate_predicates(self, start: int, stop: int) -> list[str]:
        """The same subscriptions as Spark SQL."""
        ...

    def generate_events(self, start: int, stop: int) -> pa.RecordBatch:
        """Events `start` to `stop` (excluded)."""
        ...
