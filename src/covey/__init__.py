"""covey matches every event to every standing query that wants it, exactly."""

from covey.errors import CoveyError, PredicateError, SpaceError, StoreError, ValueRefused
from covey.language import Explanation, Parser, Predicates, explain, parse, render
from covey.space import Attribute, Events, Settings, Space

__all__ = [
    "Attribute", "CoveyError", "Events", "Explanation", "Parser", "PredicateError", "Predicates",
    "Settings", "Space", "SpaceError", "StoreError", "ValueRefused", "explain", "parse", "render",
]  # fmt: skip

__version__ = "0.1.0"
