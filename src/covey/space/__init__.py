"""Attributes, schemas, and the exact encoding of values: what an event is."""

from covey.space.events import Events
from covey.space.limits import Limits
from covey.space.space import Attribute, Settings, Space
from covey.space.types import Type

__all__ = ["Attribute", "Events", "Limits", "Settings", "Space", "Type"]
