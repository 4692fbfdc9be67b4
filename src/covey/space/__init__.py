"""Attributes, types and ordered keys: what an event is, and how its values are encoded.

A space is the columns of an event, the derived attributes that Spark computes from them, and the
session settings under which predicates have their meaning. Values of scalar attributes become
integer keys (or texts) that have exactly Spark's order, so that all further work compares keys.
Nothing here knows predicates or regions.

Modules in the order in which data passes through them:

- `types`: `Type`, by Spark's names, from Arrow types and to them.
- `limits`: `PredicateLimits`, how large a predicate may be and what it may ask Spark to compute.
- `guard`: SQL that makes a derived attribute null where computing it would raise.
- `time_zones`: `TimeZones` and `Clock`, the zones of Java's, and of Python's where both agree.
- `space`: `Space`, `Attribute` and `SessionSettings`.
- `text_bounds`: ends of intervals of text, and texts that are not valid UTF-8.
- `keys`: values to ordered keys and back, and the key domain of each type.
- `ragged_array`: rows of different lengths in two arrays.
- `events`: `Events`, a batch of events as columns of keys, tokens and vectors.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.space.events import Events
    from covey.space.limits import PredicateLimits
    from covey.space.space import Attribute, SessionSettings, Space
    from covey.space.types import Type

__all__ = ["Attribute", "Events", "PredicateLimits", "SessionSettings", "Space", "Type"]

__getattr__ = lazy_exports(
    __name__,
    dict.fromkeys(__all__, "space")
    | {"Events": "events", "PredicateLimits": "limits", "Type": "types"},
)
