"""What a fitted model knows besides its parameters: a version of a store, and how it came about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import DataType, StructType

from covey._types import JsonObject, JsonValue
from covey.errors import StoreError
from covey.space import Space
from covey.spark.zones.partitioner import ZonePartitioner
from covey.store.manifest import space_from_json, space_to_json

__all__ = ["ModelState"]

_FORMAT = 2


@dataclass(frozen=True, slots=True)
class ModelState:
    """A version, what its subscriptions constrain, and where those are that were rejected."""

    location: str
    version: int
    label: str | None
    subscription_count: int
    space: Space
    constrained_attributes: tuple[str, ...]
    id_type: DataType
    rejected_path: str
    fit_seconds: Mapping[str, float]
    partitioner: ZonePartitioner | None = None

    def to_json(self) -> JsonObject:
        """As what `json.dumps` takes, but for the place, which is where it is found."""
        return {
            "format": _FORMAT,
            "version": self.version,
            "label": self.label,
            "subscription_count": self.subscription_count,
            "space": space_to_json(self.space),
            "constrained_attributes": list(self.constrained_attributes),
            "id_type": StructType().add("id", self.id_type).json(),
            "rejected_path": self.rejected_path,
            "fit_seconds": dict(self.fit_seconds),
            "partitioner": None if self.partitioner is None else self.partitioner.to_json(),
        }

    @classmethod
    def from_json(cls, location: str, content: Mapping[str, JsonValue]) -> ModelState:
        """Return the state that `to_json` was called on, found at a location.

        Raises:
            StoreError: another version of covey wrote it.
        """
        fields: Mapping[str, Any] = content
        if fields.get("format") != _FORMAT:
            raise StoreError(
                f"the model has format {fields.get('format', 1)}, this covey reads {_FORMAT}: "
                "fit it again"
            )
        partitioner = fields["partitioner"]
        return cls(
            location,
            fields["version"],
            fields["label"],
            fields["subscription_count"],
            space_from_json(fields["space"]),
            tuple(fields["constrained_attributes"]),
            StructType.fromJson(json.loads(fields["id_type"])).fields[0].dataType,
            fields["rejected_path"],
            fields["fit_seconds"],
            None if partitioner is None else ZonePartitioner.from_json(partitioner),
        )
