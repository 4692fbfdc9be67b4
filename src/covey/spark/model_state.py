"""State of a fitted model without its parameters: a version of a store, and facts about the fit."""

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

_FORMAT = 4


@dataclass(frozen=True, slots=True)
class ModelState:
    """State of a fitted model: a version of a store, and facts about its subscriptions.

    Args:
        location: location of the store.
        version: number of the version.
        label: label of the version.
        subscription_count: number of subscriptions in the version.
        space: space of the subscriptions.
        constrained_attributes: attributes that some subscription constrains.
        has_several_conditions: whether a subscription has several late conditions.
        id_type: Spark's type of the ids.
        rejected_path: folder with the results of the fit, which include rejected subscriptions;
            relative to the location.
        fit_seconds: seconds of each step of the last fit or update.
        partitioner: partitioner of events, or None if the model has no zones.
    """

    location: str
    version: int
    label: str | None
    subscription_count: int
    space: Space
    constrained_attributes: tuple[str, ...]
    has_several_conditions: bool
    id_type: DataType
    rejected_path: str
    fit_seconds: Mapping[str, float]
    partitioner: ZonePartitioner | None = None

    def to_json(self) -> JsonObject:
        """Return the state as JSON values, without the location: a saved model can be moved."""
        return {
            "format": _FORMAT,
            "version": self.version,
            "label": self.label,
            "subscription_count": self.subscription_count,
            "space": space_to_json(self.space),
            "constrained_attributes": list(self.constrained_attributes),
            "has_several_conditions": self.has_several_conditions,
            "id_type": StructType().add("id", self.id_type).json(),
            "rejected_path": self.rejected_path,
            "fit_seconds": dict(self.fit_seconds),
            "partitioner": None if self.partitioner is None else self.partitioner.to_json(),
        }

    @classmethod
    def from_json(cls, location: str, content: Mapping[str, JsonValue]) -> ModelState:
        """Return the state from the JSON values of `to_json`.

        Args:
            location: location of the store.
            content: the JSON values.

        Raises:
            StoreError: the content has another format, because another release of covey wrote it,
                or its space cannot be read.
        """
        fields: Mapping[str, Any] = content
        if fields.get("format") != _FORMAT:
            raise StoreError(
                f"the model has format {fields.get('format', 1)}, but this release of covey reads "
                f"format {_FORMAT}: use the release that wrote it, or fit it again"
            )
        partitioner = fields["partitioner"]
        return cls(
            location,
            fields["version"],
            fields["label"],
            fields["subscription_count"],
            space_from_json(fields["space"], "the model"),
            tuple(fields["constrained_attributes"]),
            fields["has_several_conditions"],
            StructType.fromJson(json.loads(fields["id_type"])).fields[0].dataType,
            fields["rejected_path"],
            fields["fit_seconds"],
            None if partitioner is None else ZonePartitioner.from_json(partitioner),
        )
