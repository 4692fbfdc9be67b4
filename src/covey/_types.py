"""Type aliases for JSON values, shared by several packages.

A recursive alias must be written as a string; type checkers evaluate it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

__all__ = ["JsonObject", "JsonValue"]

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
"""Any value that a JSON file or one of its fields can contain."""

JsonObject: TypeAlias = "dict[str, JsonValue]"
"""A JSON object: its field names with their values."""
