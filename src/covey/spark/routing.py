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

from covey.zones import Zoning

__all__ = ["ZONE", "Routing"]

ZONE = "zone"
"""The column that says which zone an event is in."""


@dataclass(frozen=True, slots=True)
class Routing:
    """The zone of an event as Spark computes it, and how many partitions share each zone.

    `expression` calls the attributes, in their order, a0, a1 and so on. If it `is_smart`, events go
    on from there to where else they have matches.
    """

    expression: str
    attributes: tuple[str, ...]
    owners: tuple[int, ...]
    is_smart: bool = False

    @classmethod
    def of(cls, zoning: Zoning, is_smart: bool) -> Routing:
        """To the zones of a set of subscriptions."""
        names = zoning.tree.attributes
        spelled = {name: f"a{i}" for i, name in enumerate(names)}
        expression = zoning.tree.expression(lambda name: spelled[name])
        return cls(expression, tuple(names), tuple(zoning.owners.tolist()), is_smart)

    @property
    def partitions(self) -> int:
        """How many there are in all."""
        return sum(self.owners)

    def routed(
        self,
        events: DataFrame,
        columns: Sequence[Column],
        hashed: Sequence[int],
        attribute: Callable[[str], Column],
    ) -> DataFrame:
        """Events with the given columns as c0, c1 and so on and then their zone, a shuffle later.

        Those with the numbers in `hashed` say which of the owners of a zone gets an event.
        """
        names = [f"c{i}" for i in range(len(columns))]
        numbered = [column.alias(name) for column, name in zip(columns, names, strict=True)]
        looked_at = [attribute(name).alias(f"a{i}") for i, name in enumerate(self.attributes)]
        zoned = events.select(*numbered, *looked_at).select(
            *names, F.expr(self.expression).alias(ZONE)
        )
        return self.shuffled(zoned, [names[i] for i in hashed])

    def shuffled(self, frame: DataFrame, hashed: Sequence[str]) -> DataFrame:
        """Rows in a partition of the zone that they say they are for."""
        return frame.repartitionById(self.partitions, self._partition(hashed))

    def _partition(self, hashed: Sequence[str]) -> Column:
        zone = F.col(ZONE)
        if self.partitions == len(self.owners):
            return zone
        starts = [sum(self.owners[:z]) for z in range(len(self.owners))]
        place = F.xxhash64(*hashed) if hashed else F.lit(0)
        first, owners = (_looked_up(list(some), zone) for some in (starts, self.owners))
        return (first + F.pmod(place, owners)).cast("int")

    def to_json(self) -> dict[str, Any]:
        """As what `json.dumps` takes."""
        return {
            "expression": self.expression,
            "attributes": list(self.attributes),
            "owners": list(self.owners),
            "is_smart": self.is_smart,
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Routing:
        """What `to_json` gave."""
        return cls(
            saved["expression"], tuple(saved["attributes"]), tuple(saved["owners"]),
            saved["is_smart"],
        )  # fmt: skip


def _looked_up(values: Sequence[int], place: Column) -> Column:
    return F.element_at(F.array(*map(F.lit, values)), place + 1)
