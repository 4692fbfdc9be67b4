"""Partitioning of events by zone: a worker needs the subscriptions of only one zone at a time.

A zone has one partition, or several if it has a large share of the work. The events of a zone are
distributed over its partitions by a hash of the constrained attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from covey._types import JsonObject, JsonValue
from covey.zones import ZoneMap

__all__ = ["ZONE_COL", "ZonePartitioner"]

ZONE_COL = "zone"
"""Name of the column with the zone of an event."""


@dataclass(frozen=True, slots=True)
class ZonePartitioner:
    """Spark expression of an event's zone, and the number of partitions of each zone.

    Args:
        expression: SQL that computes the zone from columns a0, a1, ….
        attributes: names of the attributes in columns a0, a1, …, in this order.
        partitions_per_zone: number of partitions of each zone.
        is_smart: whether replication is `smart`: events are also forwarded to home zones of
            subscriptions that are not stored in the zone of the event.
    """

    expression: str
    attributes: tuple[str, ...]
    partitions_per_zone: tuple[int, ...]
    is_smart: bool = False

    @classmethod
    def from_zone_map(cls, zone_map: ZoneMap, is_smart: bool) -> ZonePartitioner:
        """Return the partitioner of a zone map."""
        names = zone_map.tree.attributes
        columns = {name: f"a{i}" for i, name in enumerate(names)}
        expression = zone_map.tree.to_expression(lambda name: columns[name])
        return cls(expression, tuple(names), tuple(zone_map.partitions_per_zone.tolist()), is_smart)

    @property
    def partition_count(self) -> int:
        """Number of partitions of all zones together."""
        return sum(self.partitions_per_zone)

    def route_events(
        self,
        events: DataFrame,
        columns: Sequence[Column],
        hash_columns: Sequence[int],
        select_attribute: Callable[[str], Column],
    ) -> DataFrame:
        """Shuffle events to the partitions of their zones.

        Args:
            events: the events.
            columns: columns of the result, which are renamed to c0, c1, …; the zone is added as
                the last column.
            hash_columns: positions of the columns whose hash selects one of a zone's partitions.
            select_attribute: function from the name of an attribute to the expression with which
                Spark computes it.
        """
        names = [f"c{i}" for i in range(len(columns))]
        named = [column.alias(name) for column, name in zip(columns, names, strict=True)]
        zone_attributes = [
            select_attribute(name).alias(f"a{i}") for i, name in enumerate(self.attributes)
        ]
        with_zone = events.select(*named, *zone_attributes).select(
            *names, F.expr(self.expression).alias(ZONE_COL)
        )
        return self.shuffle_by_zone(with_zone, [names[i] for i in hash_columns])

    def shuffle_by_zone(self, frame: DataFrame, hash_columns: Sequence[str]) -> DataFrame:
        """Shuffle rows to the partitions of the zone in their column `ZONE_COL`.

        The hash of `hash_columns` selects one of the zone's partitions.
        """
        return frame.repartitionById(self.partition_count, self._partition_column(hash_columns))

    def _partition_column(self, hash_columns: Sequence[str]) -> Column:
        zone = F.col(ZONE_COL)
        if self.partition_count == len(self.partitions_per_zone):
            return zone
        starts = [sum(self.partitions_per_zone[:z]) for z in range(len(self.partitions_per_zone))]
        hash_value = F.xxhash64(*hash_columns) if hash_columns else F.lit(0)
        start = _look_up(starts, zone)
        partitions = _look_up(self.partitions_per_zone, zone)
        return (start + F.pmod(hash_value, partitions)).cast("int")

    def to_json(self) -> JsonObject:
        """Return the partitioner as JSON values."""
        return {
            "expression": self.expression,
            "attributes": list(self.attributes),
            "partitions_per_zone": list(self.partitions_per_zone),
            "is_smart": self.is_smart,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, JsonValue]) -> ZonePartitioner:
        """Return the partitioner from the JSON values of `to_json`."""
        fields: Mapping[str, Any] = content
        return cls(
            fields["expression"], tuple(fields["attributes"]), tuple(fields["partitions_per_zone"]),
            fields["is_smart"],
        )  # fmt: skip


def _look_up(values: Sequence[int], index: Column) -> Column:
    return F.element_at(F.array(*map(F.lit, values)), index + 1)
