"""Exact conversion of spaces to JSON and back: columns, derived attributes, settings, limits."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from covey._types import JsonObject, JsonValue
from covey.errors import SchemaError, StoreError
from covey.space import Attribute, PredicateLimits, SessionSettings, Space, Type

__all__ = ["combine_spaces", "space_from_json", "space_to_json"]


def space_to_json(space: Space) -> JsonObject:
    """Return a space as a JSON object.

    >>> import pyarrow as pa
    >>> space_to_json(Space.from_types({"price": pa.float64()}))["columns"]
    [{'name': 'price', 'type': {'name': 'double'}}]
    """
    return {
        "columns": [_attribute_to_json(a) for a in space.columns],
        "derived": [_attribute_to_json(a) for a in space.derived],
        "settings": _settings_to_json(space.settings),
        "limits": asdict(space.limits),
    }


def space_from_json(saved: Mapping[str, JsonValue], owner: str = "the store") -> Space:
    """Return the space that `space_to_json` encoded; raise StoreError if it cannot be read.

    `owner` names in the message what the space belongs to.
    """
    fields: Mapping[str, Any] = saved
    try:
        return Space(
            tuple(Attribute(a["name"], _type_from_json(a["type"])) for a in fields["columns"]),
            tuple(
                Attribute(
                    a["name"],
                    _type_from_json(a["type"]),
                    True,
                    a.get("can_raise", False),
                    a.get("is_flag", False),
                    a.get("is_late", False),
                    a.get("try_form"),
                )
                for a in fields["derived"]
            ),
            _settings_from_json(fields["settings"]),
            _limits_from_json(fields["limits"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, SchemaError) as error:
        raise StoreError(
            f"the space of {owner} cannot be read ({error!r}): create the store again, or fit the "
            "model again"
        ) from None


def _settings_to_json(settings: SessionSettings) -> dict[str, Any]:
    """Return session settings as a JSON object."""
    saved: dict[str, Any] = {"time_zone": settings.time_zone, "ansi": settings.ansi}
    if settings.zone_rules is not None:
        saved["zone_rules"] = base64.b64encode(settings.zone_rules).decode()
    return saved | ({"others": dict(settings.non_default)} if settings.non_default else {})


def _settings_from_json(saved: Mapping[str, Any]) -> SessionSettings:
    """Return the session settings that `_settings_to_json` encoded."""
    others = sorted((str(name), str(value)) for name, value in saved.get("others", {}).items())
    rules = base64.b64decode(saved["zone_rules"]) if "zone_rules" in saved else None
    return SessionSettings(saved["time_zone"], saved["ansi"], tuple(others), rules)


def _limits_from_json(saved: Mapping[str, Any]) -> PredicateLimits:
    """Return the limits for predicates that `space_to_json` encoded."""
    return PredicateLimits(**{**saved, "functions": tuple(saved["functions"])})


def combine_spaces(first: Space, others: Iterable[Space]) -> Space:
    """Return `first` with the derived attributes of all other spaces added."""
    for other in others:
        first = first.with_derived(*other.derived)
    return first


def _attribute_to_json(attribute: Attribute) -> dict[str, Any]:
    """Return an attribute as a JSON object, without fields that have their default value."""
    saved: dict[str, Any] = {"name": attribute.name, "type": _type_to_json(attribute.type)}
    for name in ("can_raise", "is_flag", "is_late"):
        if getattr(attribute, name):
            saved[name] = True
    if attribute.try_form is not None:
        saved["try_form"] = attribute.try_form
    return saved


def _type_to_json(type_: Type) -> dict[str, Any]:
    """Return a type as a JSON object, without fields that have their default value."""
    saved: dict[str, Any] = {"name": type_.name}
    for number in ("precision", "scale", "length"):
        if getattr(type_, number):
            saved[number] = getattr(type_, number)
    if type_.element is not None:
        saved["element"] = _type_to_json(type_.element)
    if type_.fields:
        saved["fields"] = [[name, _type_to_json(field)] for name, field in type_.fields]
    return saved


def _type_from_json(saved: Mapping[str, Any]) -> Type:
    """Return the type that `_type_to_json` encoded."""
    element = saved.get("element")
    return Type(
        saved["name"],
        saved.get("precision", 0),
        saved.get("scale", 0),
        saved.get("length", 0),
        None if element is None else _type_from_json(element),
        tuple((name, _type_from_json(field)) for name, field in saved.get("fields", ())),
    )
