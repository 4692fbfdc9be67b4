"""Interface of every workload: unlimited numbered subscriptions and events."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from covey.geometry import Regions
from covey.space import Space

__all__ = ["Workload"]


class Workload(Protocol):
    """Unlimited subscriptions and events that depend only on parameters and row numbers.

    Region, predicate or event i depends on the workload's parameters, which include the seed, and
    on i, but not on the other rows that a call generates. Subscription i has one region, and its
    predicate admits exactly the events in that region.

    Cost: whole blocks of `covey.workload.block_rng.BLOCK_ROWS` rows are drawn, so generate many
    rows with one call.
    """

    @property
    def name(self) -> str:
        """Name of the workload; a workload of `list_workloads` has the name in that list."""
        ...

    @property
    def space(self) -> Space:
        """Space of the events."""
        ...

    def generate_regions(self, start: int, stop: int) -> Regions:
        """Return subscriptions `start` to `stop` (excluded) as regions."""
        ...

    def generate_predicates(self, start: int, stop: int) -> list[str]:
        """Return subscriptions `start` to `stop` (excluded) as Spark SQL predicates."""
        ...

    def generate_events(self, start: int, stop: int) -> pa.RecordBatch:
        """Return events `start` to `stop` (excluded)."""
        ...
