"""Types that several packages share: what JSON holds.

An alias that refers to itself is a text, which type checkers read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

__all__ = ["JsonObject", "JsonValue"]

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
"""What a JSON file or a field of it may be."""

JsonObject: TypeAlias = "dict[str, JsonValue]"
"""The fields of a JSON object."""
