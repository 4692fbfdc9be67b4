"""Attributes, schemas, and the exact encoding of values: what an event is."""

from typing import TYPE_CHECKING

from covey.lazily import lazily

if TYPE_CHECKING:
    from covey.space.events import Events
    from covey.space.limits import Limits
    from covey.space.space import Attribute, Settings, Space
    from covey.space.types import Type

__all__ = ["Attribute", "Events", "Limits", "Settings", "Space", "Type"]

__getattr__ = lazily(
    __name__,
    dict.fromkeys(__all__, "space") | {"Events": "events", "Limits": "limits", "Type": "types"},
)
