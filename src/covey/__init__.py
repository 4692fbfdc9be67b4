"""covey matches every event to every standing query that wants it, exactly."""

from covey.errors import CoveyError, PredicateError, SpaceError
from covey.language import Parser, Predicates, parse
from covey.space import Attribute, Events, Settings, Space

__all__ = [
    "Attribute", "CoveyError", "Events", "Parser", "PredicateError", "Predicates", "Settings",
    "Space", "SpaceError", "parse",
]  # fmt: skip

__version__ = "0.1.0"
