"""What a fitted model knows besides its parameters: a version of a store, and how it came about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import DataType, StructType

from covey.space import Space
from covey.spark.routing import Routing
from covey.store.spaces import space_from_json, space_to_json

__all__ = ["Fitted"]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A version, what its subscriptions constrain, and where those are that were rejected."""

    place: str
    version: int
    label: str | None
    subscriptions: int
    space: Space
    constrained: tuple[str, ...]
    id_type: DataType
    rejected: str
    seconds: Mapping[str, float]
    routing: Routing | None = None

    def to_json(self) -> dict[str, Any]:
        """As what `json.dumps` takes, but for the place, which is where it is found."""
        return {
            "version": self.version,
            "label": self.label,
            "subscriptions": self.subscriptions,
            "space": space_to_json(self.space),
            "constrained": list(self.constrained),
            "id_type": StructType().add("id", self.id_type).json(),
            "rejected": self.rejected,
            "seconds": dict(self.seconds),
            "routing": None if self.routing is None else self.routing.to_json(),
        }

    @classmethod
    def from_json(cls, place: str, saved: Mapping[str, Any]) -> Fitted:
        """What `to_json` gave, found at a place."""
        return cls(
            place,
            saved["version"],
            saved["label"],
            saved["subscriptions"],
            space_from_json(saved["space"]),
            tuple(saved["constrained"]),
            StructType.fromJson(json.loads(saved["id_type"])).fields[0].dataType,
            saved["rejected"],
            saved["seconds"],
            Routing.from_json(routing) if (routing := saved.get("routing")) else None,
        )
