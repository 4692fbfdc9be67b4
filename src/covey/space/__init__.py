"""Attributes, types and ordered keys: the columns of events, and the encoding of their values.

A space consists of the columns of events, the derived attributes that Spark computes from them,
the session settings on which the meaning of predicates depends, and the limits of predicates.
Values of scalar attributes are converted to keys: integers, or the texts themselves, in exactly
Spark's order. All later steps compare keys. This package uses neither predicates nor regions.

Modules in the order in which data passes through them:

- `types`: `Type`, named as in Spark, with conversion from and to Arrow types.
- `limits`: `PredicateLimits`: how large predicates may be, and how much work they may cause.
- `guard`: SQL that makes a derived attribute null for events on which computing it would raise.
- `time_zones`: `TimeZones` and `Clock`: time zones of Java, or of Python if both agree.
- `space`: `Space`, `Attribute` and `SessionSettings`.
- `text_bounds`: ends of intervals of text, and texts that are not valid UTF-8.
- `keys`: conversion of values to ordered keys and back, and the key domain of each type.
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
