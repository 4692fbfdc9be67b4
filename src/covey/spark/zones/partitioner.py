"""Which partition an event goes to, so that its worker needs one zone of the subscriptions only.

A zone is a partition, or several if it has much of the work; they share its events by a hash of
what is constrained.
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
"""The column that says which zone an event is in."""


@dataclass(frozen=True, slots=True)
class ZonePartitioner:
    """The zone of an event as Spark computes it, and how many partitions share each zone.

    `expression` calls the attributes, in their order, a0, a1 and so on. If it `is_smart`, events go
    on from there to where else they have matches.
    """

    expression: str
    attributes: tuple[str, ...]
    partitions_per_zone: tuple[int, ...]
    is_smart: bool = False

    @classmethod
    def from_zone_map(cls, zone_map: ZoneMap, is_smart: bool) -> ZonePartitioner:
        """To the zones of a set of subscriptions."""
        names = zone_map.tree.attributes
        spelled = {name: f"a{i}" for i, name in enumerate(names)}
        expression = zone_map.tree.to_expression(lambda name: spelled[name])
        return cls(expression, tuple(names), tuple(zone_map.partitions_per_zone.tolist()), is_smart)

    @property
    def partition_count(self) -> int:
        """How many there are in all."""
        return sum(self.partitions_per_zone)

    def route_events(
        self,
        events: DataFrame,
        columns: Sequence[Column],
        hash_columns: Sequence[int],
        select_attribute: Callable[[str], Column],
    ) -> DataFrame:
        """Events with the given columns as c0, c1 and so on and then their zone, a shuffle later.

        Those with the numbers in `hashed` say which of the owners of a zone gets an event.
        """
        names = [f"c{i}" for i in range(len(columns))]
        numbered = [column.alias(name) for column, name in zip(columns, names, strict=True)]
        looked_at = [
            select_attribute(name).alias(f"a{i}") for i, name in enumerate(self.attributes)
        ]
        zoned = events.select(*numbered, *looked_at).select(
            *names, F.expr(self.expression).alias(ZONE_COL)
        )
        return self.shuffle_by_zone(zoned, [names[i] for i in hash_columns])

    def shuffle_by_zone(self, frame: DataFrame, hash_columns: Sequence[str]) -> DataFrame:
        """Rows in a partition of the zone that they say they are for."""
        return frame.repartitionById(self.partition_count, self._partition_column(hash_columns))

    def _partition_column(self, hash_columns: Sequence[str]) -> Column:
        zone = F.col(ZONE_COL)
        if self.partition_count == len(self.partitions_per_zone):
            return zone
        starts = [sum(self.partitions_per_zone[:z]) for z in range(len(self.partitions_per_zone))]
        place = F.xxhash64(*hash_columns) if hash_columns else F.lit(0)
        first, owners = (_look_up(list(some), zone) for some in (starts, self.partitions_per_zone))
        return (first + F.pmod(place, owners)).cast("int")

    def to_json(self) -> JsonObject:
        """As what `json.dumps` takes."""
        return {
            "expression": self.expression,
            "attributes": list(self.attributes),
            "owners": list(self.partitions_per_zone),
            "is_smart": self.is_smart,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, JsonValue]) -> ZonePartitioner:
        """What `to_json` gave."""
        fields: Mapping[str, Any] = content
        return cls(
            fields["expression"], tuple(fields["attributes"]), tuple(fields["owners"]),
            fields["is_smart"],
        )  # fmt: skip


def _look_up(values: Sequence[int], index: Column) -> Column:
    return F.element_at(F.array(*map(F.lit, values)), index + 1)
